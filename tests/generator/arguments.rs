//! The command line of a file, and the data files that it names.

use crate::datafile::{DataFile, Kind};
use crate::program::{Data, File, Param, extents};
use std::fmt::Write as _;
use std::path::PathBuf;

impl File {
    /// The arguments of `sparsec run` for it, but for data; in TACO notation they are all of it.
    pub fn args(&self, file: &str) -> Vec<String> {
        let mut args = Vec::new();
        if let Some(spelling) = self.taco {
            args = self.taco_args(spelling);
        } else {
            args.push(file.to_string());
            for (name, value) in &self.sizes {
                // A size that nothing has cannot be fixed.
                let used = self.functions.iter().any(|f| f.has_size(name));
                if used && !self.is_left_to_data(name) {
                    args.push("--size".to_string());
                    args.push(format!("{name}={value}"));
                }
            }
        }
        if self.cuda {
            args.extend(["--target".to_string(), "cuda".to_string()]);
        }
        args
    }

    /// Whether no option fixes a size, so that it is no constant of the kernels: in half of the files of
    /// which data files tell it to each function that has it.
    fn is_left_to_data(&self, size: &str) -> bool {
        let tells = |param: &Param| match &param.data {
            Data::File(file) => {
                let exact = matches!(file.kind, Kind::Matrix { .. } | Kind::Npy(_));
                let drawn = file.spelling >> 63 == 0;
                exact && drawn && param.dims.len() == 2 && param.dims.iter().any(|dim| dim == size)
            }
            Data::Text(_) => false,
        };
        let mut having = self.functions.iter().filter(|f| f.has_size(size));
        having.all(|function| function.params.iter().any(tells))
    }

    /// Writes the files of its parameters, whose names begin with `prefix`.
    ///
    /// # Errors
    /// One is not read as it was written.
    pub fn write_data(&self, prefix: &str) -> Result<(), String> {
        for (at, function) in self.functions.iter().enumerate() {
            for (n, param) in function.params.iter().enumerate() {
                if let Data::File(file) = &param.data {
                    let path = PathBuf::from(file_name(prefix, at, n, file));
                    file.write(&path, &extents(&param.dims, &self.sizes))?;
                }
            }
        }
        Ok(())
    }

    /// The data of a function's parameters, as the command line has them.
    pub fn bindings(&self, at: usize, prefix: &str) -> Vec<String> {
        let params = self.functions[at].params.iter().enumerate();
        params
            .map(|(n, p)| match &p.data {
                Data::Text(text) => format!("{}={text}", p.name),
                Data::File(file) => format!("{}={}", p.name, file_name(prefix, at, n, file)),
            })
            .collect()
    }

    /// The arguments that run one of its functions.
    pub fn run_args(&self, at: usize, file: &str, prefix: &str) -> Vec<String> {
        let function = &self.functions[at];
        if self.taco.is_some() {
            return [self.args(file), self.bindings(at, prefix)].concat();
        }
        let mut args = vec![file.to_string()];
        if self.functions.len() > 1 {
            args.splice(0..0, ["--def".to_string(), function.name.clone()]);
        }
        args.extend(self.bindings(at, prefix));
        let mut common = self.args(file).into_iter().skip(1);
        while let (Some(name), Some(value)) = (common.next(), common.next()) {
            let size = value.split('=').next().unwrap_or_default();
            if name != "--size" || function.has_size(size) {
                args.extend([name, value]);
            }
        }
        args
    }

    /// The file as one of the corpus, its data written with names that begin with `prefix`.
    pub fn corpus_file(&self, prefix: &str) -> String {
        let mut out = String::new();
        if let Some(spelling) = self.taco {
            out += &self.taco_line(spelling, prefix);
        }
        for at in 0..self.functions.len() {
            let plain = File {
                taco: None,
                ..self.clone()
            };
            let mut args = plain.run_args(at, "", prefix);
            args.retain(|arg| !arg.is_empty());
            let _ = writeln!(out, "# run: {}", args.join(" "));
        }
        out + &self.text()
    }
}

fn file_name(prefix: &str, function: usize, param: usize, file: &DataFile) -> String {
    format!("{prefix}{function}_{param}.{}", file.ending())
}
