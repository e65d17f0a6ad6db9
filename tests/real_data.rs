//! Every schedule of `schedules/` on every fitting file of the data folder with one, two and seven
//! threads: `scripts/verify-schedules`, as it takes minutes. Each file is read, and the judge
//! asked, once for each program.

mod support;

use sparsec::data::{self, Tensor};
use sparsec::diagnostic::Sources;
use sparsec::driver::{
    bind,
    build::{Backend, Library, Trust},
    run,
};
use std::path::{Path, PathBuf};
use support::{Case, brief, compile, data_folder, describe, kernels, parse, root, words};

const THREADS: [u32; 3] = [1, 2, 7];

/// A program with all its schedules, built.
struct Program {
    cases: Vec<Case>,
    library: Library,
}

impl Program {
    /// With `columns` the number of columns of dense operands.
    fn build(name: &str, columns: Option<&str>) -> Self {
        let file = root().join(format!("testdata/scheduled/{name}.tc"));
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = text.lines().filter_map(|l| l.strip_prefix("# schedule:"));
        let cases: Vec<Case> = lines
            .flat_map(words)
            .map(|name| {
                let schedule = root().join(format!("schedules/{name}.sched"));
                // One full tile of columns, and a rest.
                let tiles = std::fs::read_to_string(&schedule).unwrap();
                let eight = tiles.contains("param COLS in {") && tiles.contains(" 8,");
                let mut args = vec![
                    file.display().to_string(),
                    "--schedule".to_string(),
                    schedule.display().to_string(),
                ];
                if let Some(columns) = columns {
                    args.extend(["--size".to_string(), columns.to_string()]);
                }
                if eight {
                    args.extend(["-D".to_string(), "COLS=8".to_string()]);
                }
                let compiled = compile(&parse(&args)).unwrap_or_else(|e| panic!("{name}\n{e}"));
                Case::new(name, compiled)
            })
            .collect();
        let mut sources = Sources::default();
        let library = Library::build(&kernels(&cases), Backend::C, Trust::Nothing, &mut sources)
            .unwrap_or_else(|e| panic!("{}", describe(&e, &sources)));
        Program { cases, library }
    }

    /// Runs all schedules; what went wrong is added.
    fn on(&self, bindings: &[String], done: &mut usize, wrong: &mut Vec<String>) {
        let mut sources = Sources::default();
        let function = &self.cases[0].compiled.program.functions[0];
        let prepared = bind::bind(function, bindings, &mut sources)
            .and_then(|bound| Ok((run::expected(function, &bound)?, bound)));
        let (expected, bound) = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => return wrong.push(format!("{bindings:?}: {}", brief(&failure))),
        };
        let kernels = kernels(&self.cases);
        for (at, case) in self.cases.iter().enumerate() {
            for threads in THREADS {
                self.library.set_threads(threads);
                *done += 1;
                let place = format!("{} {bindings:?} with {threads} threads", case.text);
                match run::run(&self.library, at, &kernels[at], function, &bound, None) {
                    Ok(outcome) => {
                        let differences = run::differences(function, &expected, &outcome.results);
                        for d in differences {
                            wrong.push(format!("{place}: {} {}", d.tensor, d.reason));
                        }
                    }
                    Err(failure) => wrong.push(format!("{place}: {}", brief(&failure))),
                }
            }
        }
    }
}

/// The extents and the number of stored elements, unless values are complex.
fn shape(file: &Path) -> Option<(Vec<u64>, usize)> {
    let Tensor::Sparse(coo) = data::read(file).ok()? else {
        return None;
    };
    let complex = coo.values.ty().is_complex();
    (!complex).then(|| (coo.dims.clone(), coo.values.len()))
}

#[test]
#[ignore = "takes minutes: scripts/verify-schedules"]
fn schedules_are_right_on_real_data() {
    let Some(folder) = data_folder().filter(|f| f.is_dir()) else {
        return eprintln!("skipped: no data folder (set SPARSEC_DATA)");
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| data::file_kind(path).is_some())
        .collect();
    files.sort();
    let build = |name: &str| Program::build(name, None);
    let wide = |name: &str, columns: &str| Program::build(name, Some(columns));
    let (spmv, spmm, sddmm) = (build("spmv"), wide("spmm", "K=9"), wide("sddmm", "K=9"));
    let (spgemm, ttm) = (build("spgemm_dense"), wide("ttm", "L=9"));
    let (ttv, ttv_sparse) = (build("ttv"), build("ttv_sparse"));
    let mttkrp = |order: u32| wide(&format!("mttkrp{order}"), "J=9");
    let (mttkrp3, mttkrp4, mttkrp5) = (mttkrp(3), mttkrp(4), mttkrp(5));
    let (mut done, mut wrong) = (0, Vec::new());
    for file in &files {
        let Some((dims, stored)) = shape(file) else {
            continue;
        };
        let path = file.display();
        let mut on = |program: &Program, name: &str, rest: &str| {
            let mut bindings = vec![format!("{name}={path}")];
            bindings.extend(words(rest));
            program.on(&bindings, &mut done, &mut wrong);
        };
        match dims.as_slice() {
            [rows, columns] => {
                on(&spmv, "A", "x=random:1");
                on(&spmm, "A", "B=random:1");
                on(&sddmm, "A", "B=random:1 D=random:2");
                // A dense result of the product, and at most a few times 10^8 terms.
                if rows == columns && *rows <= 5000 && stored <= 100_000 {
                    on(&spgemm, "A", &format!("B={path}"));
                }
            }
            [rows, columns, _] => {
                on(&mttkrp3, "B", "C=random:1 D=random:2");
                on(&ttm, "B", "C=random:1");
                on(&ttv_sparse, "B", "c=random:1");
                // The result is dense.
                if rows * columns <= 300_000_000 {
                    on(&ttv, "B", "c=random:1");
                }
            }
            [_, _, _, _] => on(&mttkrp4, "B", "C=random:1 D=random:2 E=random:3"),
            [_, _, _, _, _] => on(&mttkrp5, "B", "C=random:1 D=random:2 E=random:3 F=random:4"),
            _ => {}
        }
        println!("{}: {done} runs, {} wrong", path, wrong.len());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
