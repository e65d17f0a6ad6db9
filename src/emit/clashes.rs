//! Names that two functions of a file would both give to what is written: each brings more
//! functions and tables along, named after it.

use super::names::{function, identifier};
use crate::loops::interface::Arg;
use crate::loops::ir::Kernel;
use std::collections::BTreeMap;

/// What stands behind a function's name in those that come with it, for any target.
const PARTS: [&str; 5] = ["raw", "check", "device", "workspace", "kernel"];

/// The names that a kernel gives.
fn given(kernel: &Kernel) -> Vec<String> {
    let name = function(&kernel.name);
    // Kernels of a GPU are numbered: however many there are.
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let own = if digits.ends_with("_kernel") {
        digits
    } else {
        &name
    };
    let mut names = vec![own.to_string()];
    names.extend(PARTS.iter().map(|part| format!("{name}_{part}")));
    for arg in &kernel.interface.args {
        if let Arg::Tensor(tensor) = arg {
            let own = identifier(&tensor.name);
            names.push(format!("{name}_{own}_spec"));
            names.push(format!("{name}_{own}_levels"));
        }
    }
    names
}

/// The first two kernels that give one name, and the name.
#[must_use]
pub fn find(kernels: &[Kernel]) -> Option<(usize, usize, String)> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (at, kernel) in kernels.iter().enumerate() {
        for name in given(kernel) {
            match known.get(&name) {
                Some(&first) if first != at => return Some((first, at, name)),
                Some(_) => {}
                None => {
                    known.insert(name, at);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::loops::ir::Kernel;

    fn kernel(name: &str) -> Kernel {
        let text = format!("kernel {name}\nbody\n");
        crate::loops::text::read(&text).unwrap()
    }

    fn name_of_both(first: &str, again: &str) -> Option<String> {
        find(&[kernel(first), kernel(again)]).map(|(_, _, name)| name)
    }

    #[test]
    fn what_comes_with_a_function_has_names_too() {
        assert_eq!(name_of_both("f", "f_raw").unwrap(), "f_raw");
        assert_eq!(name_of_both("f_device", "f").unwrap(), "f_device");
        assert_eq!(name_of_both("f", "f_kernel12").unwrap(), "f_kernel");
        assert_eq!(name_of_both("exp", "exp_").unwrap(), "exp_");
        assert_eq!(name_of_both("f", "f_rows"), None);
        assert_eq!(name_of_both("f", "g_raw"), None);
        assert_eq!(name_of_both("f2", "f"), None);
    }
}
