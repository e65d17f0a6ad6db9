//! Functions of a GPU that fail for what the data are, and need nothing else of the host while they
//! run: `NAME_device` starts everything and returns, and what has become of it stands in a number of
//! the device's, for the caller to look at behind the stream.

use super::host::{Form, Host};
use crate::loops::ir::{ArrayId, Device, Kernel, Stmt};
use crate::loops::visit;

/// The array that receives the status; `None` where the host has to wait for more.
pub(super) fn status(kernel: &Kernel) -> Option<ArrayId> {
    let mut waits = 0;
    visit::stmts(&kernel.body, &mut |stmt| {
        let wait = matches!(stmt, Stmt::Device(Device::Fetch { .. } | Device::Retry(_)));
        waits += usize::from(wait);
    });
    // What stood behind would run all the same.
    match kernel.body.last() {
        Some(Stmt::Device(Device::Retry(retry))) if waits == 1 && retry.rooms.is_empty() => {
            Some(retry.needs)
        }
        Some(_) | None => None,
    }
}

impl Host<'_> {
    /// The argument that receives the status.
    pub(super) fn status_param(&mut self) -> Option<String> {
        let status = self.status.filter(|_| self.form == Form::Device)?;
        let name = self.printer.scopes.fresh("status");
        self.printer.arrays[status.index()].clone_from(&name);
        Some(format!("int64_t *{name}"))
    }
}
