//! Draws files of random functions, some of which call others.

use crate::maker::Maker;
use crate::program::{Call, File, Param, Program};

const VARIABLES: [&str; 5] = ["i", "j", "k", "l", "m"];

impl Maker {
    /// A file without schedules, one in eight of several functions.
    pub fn file(&mut self) -> File {
        let count = 1 + self.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4]);
        self.variables = VARIABLES[..count].iter().map(ToString::to_string).collect();
        let sizes = self.sizes();
        let mut names = vec!["f"];
        if self.chance(15) {
            let more = 1 + self.below(2);
            names.extend(self.subset(&["g", "f2", "f_1", "k", "rawf", "f_t", "fcheck"], more));
            if self.chance(4) {
                // Written beside `f`, and so refused.
                names[more] = "f_raw";
            }
        }
        let mut functions: Vec<Program> = Vec::new();
        for name in names {
            let function = self.program(name, &functions);
            functions.push(function);
        }
        File {
            functions,
            sizes,
            cuda: self.cuda,
        }
    }

    fn sizes(&mut self) -> Vec<(String, u64)> {
        let largest = if self.variables.len() > 3 { 4 } else { 7 };
        let mut sizes = Vec::new();
        for v in self.variables.clone() {
            let extent = if self.chance(5) {
                0
            } else if self.chance(10) {
                1
            } else {
                1 + self.below(largest) as u64
            };
            sizes.push((v.to_uppercase(), extent));
        }
        sizes
    }

    /// A call of a function, whose arguments are parameters of the caller.
    pub(crate) fn call(&mut self, callee: &Program, results: usize) -> Call {
        let mut args = Vec::new();
        for param in callee.formals() {
            // The same tensor, to be unpacked by both.
            let same =
                |p: &&Param| p.ty == param.ty && p.dims == param.dims && p.name.starts_with('X');
            let known = self.params.iter().find(same).map(|p| p.name.clone());
            if let Some(name) = known
                && self.chance(30)
            {
                args.push(name);
                continue;
            }
            let mut own = param.clone();
            own.name = format!("X{}", self.params.len());
            if self.chance(30) && !own.dims.is_empty() {
                own.format = self.format(own.dims.len());
            }
            args.push(own.name.clone());
            self.params.push(own);
        }
        let (mut names, mut lefts) = (Vec::new(), Vec::new());
        for (at, result) in callee.returned.iter().enumerate() {
            let name = format!("c{}", results + at);
            // What is added to comes from outside.
            if let Some(param) = callee.params.iter().find(|p| p.name == *result) {
                let mut own = param.clone();
                own.name.clone_from(&name);
                self.params.push(own);
            }
            let left = callee.left_of(result);
            self.computed.push((name.clone(), left.clone()));
            names.push(name);
            lefts.push(left);
        }
        Call {
            callee: callee.name.clone(),
            args,
            results: names,
            lefts,
        }
    }
}
