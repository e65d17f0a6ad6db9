//! Names that two functions of a file would both give to what is written: each brings more
//! functions and tables along, named after it.

use super::names::{Scopes, function};
use crate::loops::interface::Arg;
use crate::loops::ir::Kernel;
use crate::target::Target;
use std::collections::BTreeMap;

/// What stands behind a function's name in those that come with it, for any target.
const PARTS: [&str; 9] = [
    "raw",
    "check",
    "renewed",
    "device",
    "count_device",
    "fill_device",
    "workspace",
    "run",
    "kernel",
];

/// The parts of which a function may have several, with numbers.
const NUMBERED: [&str; 2] = ["_kernel", "_loop"];

/// What the tables of each argument are named after.
#[must_use]
pub fn tables(kernel: &Kernel) -> Vec<String> {
    let mut scopes = Scopes::default();
    scopes.open();
    let args = kernel.interface.args.iter();
    args.map(|arg| scopes.fresh(arg.name())).collect()
}

/// The names that a kernel gives to functions and tables.
#[must_use]
pub fn given(kernel: &Kernel, target: Target) -> Vec<String> {
    let name = function(&kernel.name, target);
    [vec![name], parts(kernel, target)].concat()
}

/// Those that are not its own.
fn parts(kernel: &Kernel, target: Target) -> Vec<String> {
    let name = function(&kernel.name, target);
    let mut names: Vec<String> = PARTS.iter().map(|part| format!("{name}_{part}")).collect();
    match target {
        Target::C => names.push(format!("{name}_loop")),
        Target::Cuda => {}
    }
    for (arg, own) in kernel.interface.args.iter().zip(tables(kernel)) {
        if let Arg::Tensor(_) = arg {
            names.push(format!("{name}_{own}_spec"));
            names.push(format!("{name}_{own}_levels"));
            names.push(format!("{name}_{own}_fill"));
        }
    }
    let keeping = kernel.keeping.iter();
    names.extend(keeping.flat_map(|own| given(own, target)));
    names
}

/// The first two kernels that give one name, and the name.
#[must_use]
pub fn find(kernels: &[Kernel], target: Target) -> Option<(usize, usize, String)> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut of_parts: BTreeMap<String, usize> = BTreeMap::new();
    for (at, kernel) in kernels.iter().enumerate() {
        for name in given(kernel, target) {
            match known.get(&name) {
                Some(&first) if first != at => return Some((first, at, name)),
                Some(_) => {}
                None => {
                    known.insert(name, at);
                }
            }
        }
        of_parts.extend(parts(kernel, target).into_iter().map(|name| (name, at)));
    }
    // However many there are of a part with numbers.
    kernels.iter().enumerate().find_map(|(at, kernel)| {
        let name = function(&kernel.name, target);
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = NUMBERED.iter().any(|part| stem.ends_with(part));
        let other = of_parts
            .get(stem)
            .filter(|&&other| numbered && other != at)?;
        Some((at.min(*other), at.max(*other), stem.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::{Target, find};
    use crate::loops::ir::Kernel;

    fn kernel(name: &str) -> Kernel {
        let text = format!("kernel {name}\nbody\n");
        crate::loops::text::read(&text).unwrap()
    }

    fn name_of_both(first: &str, again: &str) -> Option<String> {
        name_for(Target::Cuda, first, again)
    }

    fn name_for(target: Target, first: &str, again: &str) -> Option<String> {
        find(&[kernel(first), kernel(again)], target).map(|(_, _, name)| name)
    }

    #[test]
    fn what_comes_with_a_function_has_names_too() {
        assert_eq!(name_of_both("f", "f_raw").unwrap(), "f_raw");
        assert_eq!(name_of_both("f_device", "f").unwrap(), "f_device");
        assert_eq!(name_of_both("f_run", "f").unwrap(), "f_run");
        assert_eq!(name_of_both("f", "f_kernel12").unwrap(), "f_kernel");
        assert_eq!(name_for(Target::C, "f", "f_loop2").unwrap(), "f_loop");
        assert_eq!(name_for(Target::C, "f_loop", "f").unwrap(), "f_loop");
        assert_eq!(name_of_both("f", "f_loop"), None);
        assert_eq!(name_for(Target::C, "f_loop1", "f_loop2"), None);
        assert_eq!(name_of_both("f_kernel1", "f_kernel2"), None);
        assert_eq!(name_of_both("exp", "exp_").unwrap(), "exp_");
        assert_eq!(name_of_both("f", "f_rows"), None);
        assert_eq!(name_of_both("f", "g_raw"), None);
        assert_eq!(name_of_both("f2", "f"), None);
    }
}
