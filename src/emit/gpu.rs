//! What targets with blocks have in common: kernels with the host functions that launch them, in C++17.
//! What one of them calls differently, an [`Api`] says.

use super::c::{comment, header_with};
use super::host::{Form, Host};
use super::kernel::{Part, Printer};
use super::names::function;
use super::{Unit, smoke, transfer};
use crate::loops::ir::{Device, Kernel, Stmt};
use crate::loops::visit;
use crate::target::Target;
use std::fmt::Write as _;

/// How a target spells what the text of kernels and of their host functions says; all else the runtime header calls.
#[derive(Debug)]
pub(super) struct Api {
    pub target: Target,
    /// The type of a stream, and the struct that it points to.
    pub stream: &'static str,
    pub stream_struct: &'static str,
    /// What a kernel's compiler is told of the number of its threads.
    pub bounds: fn(u32) -> String,
}

/// The text of the kernels, and of the host functions that launch them.
pub(super) fn kernel_text(unit: &Unit, api: &'static Api) -> String {
    let mut out = String::from("/* Written by sparsec. */\n");
    let _ = writeln!(
        out,
        "#define SPARSEC_IMPLEMENTATION\n{}#include \"{}.h\"",
        if scans(unit) {
            "#define SPARSEC_SCANS\n"
        } else {
            ""
        },
        unit.name
    );
    out.push_str(&super::operators::definitions(unit, api.target));
    for kernel in unit.all() {
        out.push('\n');
        out.push_str(&comment(kernel));
        out.push_str(&device_text(kernel, api));
        if !kernel.checks.is_empty() {
            let name = function(&kernel.name, api.target);
            out.push_str(
                "\n/* Data-dependent subscripts and bounds stay inside their tensors. */\n",
            );
            out.push_str(&Printer::new(kernel).function(
                &format!("{name}_check"),
                "static ",
                Part::Checks,
            ));
        }
        out.push('\n');
        out.push_str(&super::specs::specs(kernel, api.target));
        out.push('\n');
        out.push_str(&transfer::definition(kernel, api));
    }
    out.push_str(&smoke::text(unit, api.target));
    out
}

/// Whether a kernel needs the runtime's scans.
fn scans(unit: &Unit) -> bool {
    let scan = |stmt: &Stmt| matches!(stmt, Stmt::Device(Device::Scan(_)));
    unit.all().any(|kernel| visit::any(&kernel.body, &scan))
}

/// The text of `NAME.h`.
pub(super) fn header(unit: &Unit, api: &'static Api) -> String {
    header_with(
        unit,
        api.target,
        &format!("typedef struct {} *{};\n", api.stream_struct, api.stream),
        |kernel| {
            let host = Host::new(kernel, api);
            if let Some(phases) = &host.phases {
                let both = super::phases::prototypes(kernel, phases, api);
                return format!("{both}{};\n", host.workspace_signature());
            }
            if host.form == Form::Run {
                return "/* The host asks how launches went while it runs: there is no function on device arrays. */\n"
                .to_string();
            }
            let status = match host.status {
                Some(_) => "\n * Behind the stream, status[0] is a status.",
                None => "",
            };
            format!(
                "/* On arrays of the device, which the caller allocates; starts everything on the stream and\n \
             * returns. Takes workspace of as many bytes as {}_workspace says.{status} */\n{};\n{};\n",
                host.name,
                host.device_signature(),
                host.workspace_signature()
            )
        },
    )
}

/// Kernels, and the function that launches them.
fn device_text(kernel: &Kernel, api: &'static Api) -> String {
    let mut host = Host::new(kernel, api);
    host.number(&kernel.body);
    let mut out = String::new();
    for launch in &host.launches {
        out.push_str(&launch.text);
        out.push('\n');
    }
    if host.form == Form::Device || host.phases.is_some() {
        out.push_str(&host.workspace_function());
        out.push('\n');
    }
    out.push_str(&host.launching_functions());
    out
}
