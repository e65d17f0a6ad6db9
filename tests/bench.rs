//! `sparsec bench`: what it measures and says, not how long anything takes.

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

const SPMV: &[&str] = &[
    "testdata/spmv.tc",
    "A=testdata/data/cage5.mtx",
    "x=random:1",
    "--rounds",
    "3",
];

fn bench(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.arg("bench").args(args);
    command.output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn report(args: &[&str]) -> Value {
    let output = bench(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(report: &Value) -> Vec<&str> {
    let all = report["candidates"].as_array().unwrap();
    all.iter().map(|c| c["name"].as_str().unwrap()).collect()
}

/// The rows of a data set: candidates with numbers of threads.
fn rows(set: &Value) -> Vec<(&str, u64)> {
    let all = set["times"].as_array().unwrap().iter();
    let row = |t: &'_ Value| t["threads"].as_u64().unwrap();
    all.map(|t| (t["candidate"].as_str().unwrap(), row(t)))
        .collect()
}

#[test]
fn the_report_says_what_was_measured_and_how() {
    let report = report(&[SPMV, &["--threads", "1,2", "-D", "CHUNK=16", "--verify"]].concat());
    assert_eq!(report["schema"], "sparsec-bench-1");
    assert_eq!(report["sparsec"], env!("CARGO_PKG_VERSION"));
    assert_eq!(report["function"], "spmv");
    assert_eq!(report["clock"], "host");
    assert!(report["program"].as_str().unwrap().contains("size M"));
    for key in ["cpu", "compiler", "version", "flags"] {
        assert!(
            !report["machine"][key].as_str().unwrap().is_empty(),
            "{key}"
        );
    }
    assert_eq!(names(&report), ["default", "plain"]);
    let default = &report["candidates"][0];
    assert_eq!(default["parameters"], json!({"CHUNK": 16}));
    assert_eq!(default["schedule"][0], "split(i, i0, i1, 16)");
    assert!(default["build_seconds"].as_f64().unwrap() > 0.0);
    let set = &report["data"][0];
    // Plain loops have no use for a second thread.
    assert_eq!(rows(set), [("default", 1), ("default", 2), ("plain", 1)]);
    assert_eq!(set["stored"], 233);
    assert_eq!(set["operations"], 466.0);
    // Positions, coordinates and values of A, x, y.
    assert_eq!(set["bytes"], f64::from(4 * 38 + 12 * 233 + 2 * 8 * 37));
    assert_eq!(set["rounds"], 3);
    assert_eq!(set["verified"], true);
    assert_eq!(set["tensors"][0]["shape"], json!([37, 37]));
    assert_eq!(set["limits"].as_array().unwrap().len(), 2);
    assert_eq!(set["times"][0]["ratio"], 1.0);
    for row in set["times"].as_array().unwrap() {
        let at = |key: &str| row["seconds"][key].as_f64().unwrap();
        let ordered = ["min", "q1", "median", "q3", "max"].map(at);
        assert!(ordered[0] > 0.0 && ordered.is_sorted(), "{row}");
        assert!(row["of_limit"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn candidates_are_what_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("named.tc");
    let text = "def f(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\n\
                format f { A: csr }\n\
                schedule f for c named chunked { split(i, i0, i1, 8) }\n\
                schedule f for cuda named blocks { parallelize(i, GPUBlock, NoRaces) }\n";
    std::fs::write(&program, text).unwrap();
    let data = ["A=testdata/data/cage5.mtx", "x=ones", "--rounds", "1"];
    let listed = |more: &[&str]| {
        let report = report(&[&[program.to_str().unwrap()], &data[..], more].concat());
        names(&report).join(" ")
    };
    assert_eq!(listed(&[]), "default plain chunked");
    assert_eq!(
        listed(&["--schedules", "chunked,plain"]),
        "default chunked plain"
    );
    assert_eq!(
        listed(&["--schedule", "builtin:spmv_cpu", "--schedules", "chunked"]),
        "builtin:spmv_cpu chunked"
    );
    assert_eq!(listed(&["--no-schedule"]), "plain default chunked");
    let file = folder.path().join("own.sched");
    std::fs::write(&file, "param N in {2, 4} = 4\nsplit(i, i0, i1, N)\n").unwrap();
    let file = file.to_str().unwrap();
    let both = format!("default {file}");
    assert_eq!(listed(&["--schedules", file, "-D", "N=2"]), both);
}

/// What is updated in place begins each call as it was.
#[test]
fn what_is_updated_in_place_is_restored() {
    let program = ["-e", "y(i)+=A(i,j)*x(j)", "-f", "A:ds"];
    let data = ["A=testdata/data/cage5.mtx", "x=ones", "y=ones", "--verify"];
    let report = report(&[&program[..], &data, &["--rounds", "2"]].concat());
    for row in report["data"][0]["times"].as_array().unwrap() {
        assert_eq!(row["calls"], 1);
    }
}

/// The report with all times multiplied by a factor that no noise reaches, as a file: of a machine
/// that nobody asked what it can do.
fn planted(report: &Value, factor: f64, folder: &Path) -> String {
    let mut report = report.clone();
    report["data"][0]["limits"] = json!([]);
    for row in report["data"][0]["times"].as_array_mut().unwrap() {
        for (_, seconds) in row["seconds"].as_object_mut().unwrap() {
            *seconds = json!(seconds.as_f64().unwrap() * factor);
        }
    }
    let path = folder.join("old.json");
    std::fs::write(&path, report.to_string()).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn slower_than_before_is_exit_1() {
    let folder = tempfile::tempdir().unwrap();
    let report = report(SPMV);
    let compared = |factor: f64| {
        let old = planted(&report, factor, folder.path());
        let output = bench(&[SPMV, &["--json", "--compare", &old]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let first = report["comparison"][0]["verdict"].clone();
        (output.status.code(), first, stderr(&output))
    };
    let (code, verdict, said) = compared(1e-9);
    assert_eq!(
        (code, verdict.as_str()),
        (Some(1), Some("slower")),
        "{said}"
    );
    assert!(said.contains("E0717"), "{said}");
    let (code, verdict, said) = compared(1e9);
    assert_eq!(
        (code, verdict.as_str()),
        (Some(0), Some("faster")),
        "{said}"
    );
    let old = planted(&report, 1e-9, folder.path());
    let output = bench(&[SPMV, &["--compare", &old]].concat());
    assert!(String::from_utf8_lossy(&output.stdout).contains("SLOWER"));
}

#[test]
fn measurements_of_something_else_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let report = report(SPMV);
    let old = planted(&report, 1.0, folder.path());
    let refused = |args: &[&str]| {
        let output = bench(&[args, &["--rounds", "1", "--compare", &old]].concat());
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
        stderr(&output)
    };
    let other = ["-e", "y(i)=A(i,j)", "-f", "A:ds"];
    let said = refused(&[&other[..], &["A=testdata/data/cage5.mtx"]].concat());
    assert!(said.contains("E0609") && said.contains("program"), "{said}");
    let said = refused(&[
        "testdata/spmv.tc",
        "A=testdata/data/cage5.mtx",
        "x=random:2",
    ]);
    assert!(said.contains("E0609") && said.contains("data"), "{said}");
    std::fs::write(&old, "{\"schema\": \"sparsec-bench-0\"}").unwrap();
    let said = refused(&SPMV[..3]);
    assert!(said.contains("E0609"), "{said}");
    std::fs::remove_file(&old).unwrap();
    assert!(refused(&SPMV[..3]).contains("E0601"));
}

#[test]
fn plots_are_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.svg");
    let plot = ["--plot", path.to_str().unwrap()];
    let drawn = |more: &[&str]| {
        let output = bench(&[SPMV, &plot, more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        std::fs::read_to_string(&path).unwrap()
    };
    let one = drawn(&[]);
    assert!(one.starts_with("<svg") && one.ends_with("</svg>\n"));
    assert!(one.contains("roofline") && !one.contains("stored elements"));
    assert!(drawn(&["A=testdata/data/airfoil.mtx"]).contains("stored elements"));
    // Before anything is measured.
    let nowhere = folder.path().join("none/out.svg");
    let output = bench(&[SPMV, &["--plot", nowhere.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn broken_promises_are_not_timed() {
    // The matrix has 37 rows.
    let program = ["-e", "y(i)=A(i,j)", "-f", "A:ds"];
    let schedule = ["-s", "bound(i,ib,36,MaxExact)"];
    let data = ["A=testdata/data/cage5.mtx", "--rounds", "1"];
    let output = bench(&[&program[..], &schedule, &data].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("E0712"), "{}", stderr(&output));
}

/// A number of threads that is named again is no other candidate.
#[test]
fn numbers_of_threads_are_measured_once() {
    let threads = ["--threads", "2,1,2", "--csv"];
    let schedules = ["--schedules", "plain"];
    let output = bench(&[SPMV, &threads, &schedules].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // A head, the program's own schedule with two and one, plain loops.
    assert_eq!(text.lines().count(), 4, "{text}");
}

/// An emulator's times are none.
#[test]
fn gpus_are_not_measured_without_one() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sparsec"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.env("SPARSEC_EMULATOR", "1");
    let output = command
        .arg("bench")
        .args(SPMV)
        .args(["--target", "cuda"])
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("E0715"), "{}", stderr(&output));
}

/// Two data sets say nothing of sizes: the kernel carries a schedule for each range, and all of
/// them are right.
#[test]
fn rows_of_every_length_have_their_tiles() {
    let folder = tempfile::tempdir().unwrap();
    let mut sets = Vec::new();
    for columns in [1, 3, 4, 7, 8, 29, 32, 33, 71, 130] {
        let path = folder.path().join(format!("b{columns}.mtx"));
        let values: String = (0..37 * columns)
            .map(|n| format!("{}\n", f64::from(n * 7 % 11) - 4.5))
            .collect();
        let head = "%%MatrixMarket matrix array real general";
        std::fs::write(&path, format!("{head}\n37 {columns}\n{values}")).unwrap();
        sets.push("A=testdata/data/cage5.mtx".to_string());
        sets.push(format!("B={}", path.display()));
    }
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    let common = ["--rounds", "3", "--verify", "--threads", "2"];
    for (program, choices) in [
        (&["-e", "C(i,k)=A(i,j)*B(j,k)", "-f", "A:ds"][..], 3),
        (
            &[
                "-e",
                "C(i,k)=A(i,j)*B(j,k)+B(i,k)",
                "-f",
                "A:ds",
                "-t",
                "B:float",
                "-t",
                "C:float",
            ],
            3,
        ),
        (
            &[
                "-e",
                "C(i,j)=A(i,j)*B(i,k)*B(j,k)",
                "-f",
                "A:ds",
                "-f",
                "C:ds",
            ],
            3,
        ),
        (&["-e", "C(i,k)=A(i,j)*B(j,k)"], 3),
        (&["-e", "C(k,i)=A(i,j)*B(j,k)"], 3),
        (&["-e", "y(k)=A(i,j)*B(j,k)"], 1),
    ] {
        let report = report(&[program, &sets, &common].concat());
        let script = report["candidates"][0]["schedule"].as_array().unwrap();
        let arms = script.iter().filter(|line| {
            let line = line.as_str().unwrap();
            line.ends_with(": {")
        });
        assert_eq!(arms.count().max(1), choices, "{script:#?}");
        for set in report["data"].as_array().unwrap() {
            assert_eq!(set["verified"], true, "{program:?}");
        }
    }
}

/// Rows of a matrix are summed in lanes where they hold many elements, which the kernel asks.
#[test]
fn long_rows_are_summed_in_lanes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.mtx");
    let elements: String = (1..=37)
        .flat_map(|row| (1..=37).map(move |column| (row, column)))
        .filter(|(row, column)| (row * column) % 5 != 0 || *row == 9)
        .map(|(row, column)| format!("{row} {column} {}\n", f64::from(row * column % 13) - 5.5))
        .collect();
    let head = "%%MatrixMarket matrix coordinate real general";
    let count = elements.lines().count();
    std::fs::write(&path, format!("{head}\n37 37 {count}\n{elements}")).unwrap();
    let long = format!("A={}", path.display());
    let data = [
        "A=testdata/data/cage5.mtx",
        "x=random:1",
        &long,
        "x=random:2",
    ];
    let program = [
        "-e",
        "y(i)=A(i,j)*x(j)",
        "-f",
        "A:ds",
        "--rounds",
        "3",
        "--verify",
    ];
    let report = report(&[&program[..], &data].concat());
    assert_eq!(
        report["candidates"][0]["schedule"][1],
        "  when mean_row(A) >= 20: {"
    );
    for set in report["data"].as_array().unwrap() {
        assert_eq!(set["verified"], true);
    }
}

/// Operations of a program on generated data.
fn operations(program: &str, data: &[&str]) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.tc");
    std::fs::write(&file, program).unwrap();
    let args = [
        &[file.to_str().unwrap(), "--rounds", "1", "--no-schedule"],
        data,
    ]
    .concat();
    report(&args)["data"][0]["operations"].as_f64().unwrap()
}

/// What a result is combined with is an operation, and loops have as many iterations as data say.
#[test]
fn operations_are_counted_as_they_are_done() {
    let axpy = "def axpy(double a, double(N) x, double(N) y) -> (y) { y(i) += a * x(i) }";
    let data = ["a=2", "x=ones", "y=ones", "--size", "N=1000"];
    assert_eq!(operations(axpy, &data), 2000.0);
    let largest = "def f(double(N) x, double(N) y) -> (y) { y(i) max= x(i) }";
    assert_eq!(operations(largest, &data[1..]), 1000.0);
    // The sum is of another type than what it is added to.
    let converted = "def f(double(N,N) A, float(N) y) -> (y) { y(i) += A(i,j) }";
    let data = ["A=ones", "y=ones", "--size", "N=10"];
    assert_eq!(operations(converted, &data), 100.0);
    // Rows of 1, 2, .. elements.
    let triangle = "def f(double(N,N) A) -> (y) { y(i) +=! A(i,j) where j in 0:i+1 }";
    let data = ["A=ones", "--size", "N=100"];
    assert_eq!(operations(triangle, &data), 5050.0);
    // Each stored element once, at a distance, too, and for each of the weights.
    let distant = "def f(double(N,N) A) -> (y) { y(i) +=! A(i,j+1) }\nformat f { A: csr }";
    assert_eq!(operations(distant, &data), 10_000.0);
    let signal = "def f(double(N) x, double(K) w) -> (y) { y(i) +=! x(i+j) * w(j) }\nformat f { x: {compressed} }";
    let data = ["x=ones", "w=ones", "--size", "N=100", "--size", "K=5"];
    assert_eq!(operations(signal, &data), 1000.0);
    // The starts of 37 rows and behind them, the last of which is 93.
    let rows = "def f(int(R) pos, double(Z) v, double(Z) x) -> (y) { y(i) +=! v(p) * x(p) where i in 0:R-1, p in pos(i):pos(i+1) }";
    let data = [
        "pos=testdata/data/index/starts.mtx",
        "v=ones",
        "x=ones",
        "--size",
        "Z=93",
    ];
    assert_eq!(operations(rows, &data), 186.0);
}

/// JSON has no numbers that are none; a report with such a norm is read again.
#[test]
fn results_without_a_norm_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let [data, before] = ["nan.mtx", "before.json"].map(|name| folder.path().join(name));
    let text = "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 1\n";
    std::fs::write(&data, text).unwrap();
    let a = format!("A={}", data.display());
    let args = ["testdata/spmv.tc", &a, "x=ones", "--rounds", "2"];
    let output = bench(&[args.as_slice(), &["--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    std::fs::write(&before, &output.stdout).unwrap();
    let compare = ["--compare", before.to_str().unwrap()];
    let output = bench(&[args.as_slice(), &compare].concat());
    let said = stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    assert!(!said.contains("E0609"), "{said}");
}

/// What data break is said with the file and line that say so, as by `run`.
#[test]
fn a_subscript_outside_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let [program, data] = ["g.tc", "idx.mtx"].map(|name| folder.path().join(name));
    let text = "def g(int32(R) idx, double(N) x) -> (y) { y(i) = x(idx(i)) where i in 0:R }\n";
    std::fs::write(&program, text).unwrap();
    let text = "%%MatrixMarket matrix array integer general\n3 1\n0\n1\n900\n";
    std::fs::write(&data, text).unwrap();
    let idx = format!("idx={}", data.display());
    let output = bench(&[program.to_str().unwrap(), &idx, "x=ones", "--size", "N=4"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("idx.mtx:5"), "{}", stderr(&output));
}
