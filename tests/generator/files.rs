//! Draws files of random functions, some of which call others.

use crate::maker::Maker;
use crate::program::{Call, File, Param, Program};
use sparsec::diagnostic::{Diagnostic, Sources};
use sparsec::{program, syntax};

const VARIABLES: [&str; 5] = ["i", "j", "k", "l", "m"];

impl Maker {
    /// A file without schedules, one in eight of several functions.
    pub fn file(&mut self) -> File {
        let count = 1 + self.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4]);
        self.variables = VARIABLES[..count].iter().map(ToString::to_string).collect();
        self.sizes = self.sizes();
        let mut names = vec!["f"];
        self.taco = self.chance(6);
        if !self.taco && self.chance(15) {
            let more = 1 + self.below(2);
            names.extend(self.subset(&["g", "f2", "f_1", "k", "rawf", "f_t", "fcheck"], more));
            if self.chance(4) {
                // Written beside `f`, and so refused.
                names[more] = "f_raw";
            }
        }
        self.alone = names.len() == 1;
        self.ranged = self.chance(12);
        let mut functions: Vec<Program> = Vec::new();
        for name in names {
            let function = self.program(name, &functions);
            functions.push(function);
        }
        let mut file = File {
            functions,
            sizes: self.sizes.clone(),
            cuda: self.cuda,
            taco: None,
        };
        if self.taco {
            self.note("TACO notation");
            file.functions[0].leave_out_for_taco();
            file.taco = Some(self.bits());
            return file;
        }
        if self.chance(10) {
            self.rename(&mut file);
        }
        if self.chance(85) {
            self.fill_results(&mut file);
        }
        file
    }

    /// Gives sparse results the fill values that the compiler says they need.
    fn fill_results(&mut self, file: &mut File) {
        // Of a function, one result after another.
        for _ in 0..2 * file.functions.len() {
            let mut sources = Sources::default();
            let text = file.text();
            let id = sources.add("case.tc", &text);
            let Ok(ast) = syntax::parse(id, &text) else {
                return;
            };
            let resolved = program::resolve(&[ast], &program::Options::default());
            let Err(errors) = resolved else {
                return;
            };
            let wanted = |d: &Diagnostic| {
                let rest = (d.code.id == "E0311").then_some(d.message.as_str())?;
                let name = rest.split('`').nth(1)?.to_string();
                let value = rest.split("have to be ").nth(1)?.split(',').next()?;
                Some((name, value.to_string()))
            };
            let found: Vec<(String, String)> = errors.iter().filter_map(wanted).collect();
            let functions = file.functions.iter_mut();
            let mut formats = functions.flat_map(|f| &mut f.formats);
            let Some((format, value)) = formats.find_map(|(name, format)| {
                let (_, value) = found.iter().find(|(of, _)| of == name)?;
                (format.fill.as_ref() != Some(value)).then_some((format, value))
            }) else {
                return;
            };
            format.fill = Some(value.clone());
            self.note("filled result");
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
        // Longer than vectors, and than the tiles that loops without a schedule are cut into.
        if self.variables.len() <= 4 && self.chance(15) {
            self.note("long dimension");
            let at = self.below(sizes.len());
            sizes[at].1 = 8 + self.below(72) as u64;
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
                own.format = self.format(own.dims.len(), own.ty);
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
