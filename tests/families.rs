//! Families of programs around kernels that were wrong, whatever few cases were right: tiles of
//! positions whose rows are runs of repeated coordinates, strided windows staged in pieces, and
//! minima and maxima into another type. Each runs against the judge, on CPUs under the race
//! checker, on the emulator with all of its checks.

mod support;

use support::corpus::check;
use support::{Case, compile, parse, root};

const TARGETS: [&str; 2] = ["c", "cuda"];

/// Compiles a program and its schedule; `None` where the target refuses the schedule.
fn case(definition: &str, schedule: &str, target: &str, data: &[String]) -> Option<Case> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.tc");
    let text = format!("{definition}\nschedule f for {target} {{ {schedule} }}\n");
    std::fs::write(&file, &text).unwrap();
    let mut args = vec![file.display().to_string()];
    args.extend(["--target".to_string(), target.to_string()]);
    args.extend_from_slice(data);
    let compiled = compile(&parse(&args)).ok()?;
    Some(Case {
        runs: vec![data.to_vec()],
        ..Case::new(text, compiled)
    })
}

fn data(name: &str) -> String {
    root()
        .join("testdata/families")
        .join(name)
        .display()
        .to_string()
}

/// Rows of repeated coordinates that tiles share: one row over all tiles, rows of all lengths.
fn positions(target: &str) -> Vec<Case> {
    let unit = if target == "c" {
        "CPUThread"
    } else {
        "GPUThread"
    };
    let mut cases = Vec::new();
    for race in ["Atomics", "Temporary", "ParallelReduction"] {
        for size in [1, 3, 8, 64] {
            for format in [
                "(i: compressed(nonunique), j: singleton)",
                "(i: dense, j: compressed)",
                "(i: compressed, j: compressed)",
            ] {
                let definition = format!(
                    "format stored = (i,j) -> {format}\ndef f(double(M,N) A, double(N) x) -> (y) {{ y(i) +=! A(i,j) * x(j) }}\n\
                     format f {{ A: stored }}"
                );
                let schedule = format!(
                    "fuse(i, j, f) pos(f, p, A(i,j)) split(p, p0, p1, {size}) \
                     parallelize(p0, {unit}, {race})"
                );
                let bindings = [format!("A={}", data("row.tns")), "x=random:1".to_string()];
                cases.extend(case(&definition, &schedule, target, &bindings));
            }
            for format in [
                "(i: compressed(nonunique), j: singleton(nonunique), k: singleton)",
                "(i: dense, j: compressed(nonunique), k: singleton)",
                "(i: compressed, j: compressed(nonunique), k: singleton)",
                "(i: dense, j: dense, k: compressed)",
                "(i: compressed, j: compressed, k: compressed)",
            ] {
                let definition = format!(
                    "format stored = (i,j,k) -> {format}\ndef f(double(L,M,N) A, double(N) x) -> (y) {{ y(i,j) +=! A(i,j,k) * x(k) }}\n\
                     format f {{ A: stored }}"
                );
                let schedule = format!(
                    "fuse(j, k, g) fuse(i, g, f) pos(f, p, A(i,j,k)) split(p, p0, p1, {size}) \
                     parallelize(p0, {unit}, {race})"
                );
                let bindings = [
                    format!("A={}", data("fibres.tns")),
                    "x=random:1".to_string(),
                ];
                cases.extend(case(&definition, &schedule, target, &bindings));
            }
        }
    }
    cases
}

#[test]
fn rows_that_tiles_of_positions_share() {
    for target in TARGETS {
        let cases = positions(target);
        assert_eq!(cases.len(), 3 * 4 * 8, "of {target} are taken");
        check(&cases);
    }
}

/// Windows of `taps` elements every `stride`, staged by threads that take `piece` each.
fn window(stride: u32, taps: u32, piece: u32) -> Option<Case> {
    let extent = 40 * stride + taps;
    let definition = format!(
        "def f(double({extent}) x, double({taps}) w) -> (y) \
         {{ y(i) +=! x({stride} * i + k) * w(k) where i in 0:40, k in 0:{taps} }}"
    );
    let schedule = format!(
        "split(i, i0, i1, 16) promote(x, shared, i0) split(i1_x_tile, c2, c3, {piece}) \
         parallelize(i0, GPUBlock, NoRaces) parallelize(i1, GPUThread, NoRaces) \
         parallelize(c2, GPUThread, NoRaces)"
    );
    let bindings = [format!("x=random:{stride}"), format!("w=random:{taps}")];
    case(&definition, &schedule, "cuda", &bindings)
}

#[test]
fn strided_windows_staged_in_pieces() {
    let mut cases = Vec::new();
    for stride in 2..=5 {
        for taps in 3..=9 {
            for piece in 2..=8 {
                cases.extend(window(stride, taps, piece));
            }
        }
    }
    assert_eq!(cases.len(), 4 * 7 * 7);
    check(&cases);
}

/// Element types, and a factor with which `random` leaves the narrower ones: doubles stay where
/// a conversion to a narrow or an unsigned type wraps.
const TYPES: [(&str, &str); 13] = [
    ("bool", ""),
    ("int8", "* 14"),
    ("uint8", "* 28"),
    ("int16", "* 3600"),
    ("uint16", "* 7200"),
    ("int32", "* 200000000"),
    ("uint32", "* 400000000"),
    ("int64", "* 1000000000000000000"),
    ("uint64", "* 2000000000000000000"),
    ("half", "* 300"),
    ("bfloat16", "* 300"),
    ("float", "* 300"),
    ("double", "* 300"),
];

/// Scalars of one type, each the least or the largest of the first `k` elements of a tensor of
/// each type: what is there is kept, or the type's own end comes out, where `k` is 0.
fn of_all_types(left: &str, target: &str) -> Option<Case> {
    let mut params = vec!["int k".to_string()];
    let (mut stmts, mut results) = (String::new(), Vec::new());
    let mut runs = [vec!["k=0".to_string()], vec!["k=9".to_string()]];
    for (seed, (right, factor)) in TYPES.iter().enumerate() {
        params.push(format!("{right}(N) x_{right}"));
        for (name, op) in [("a", "min="), ("b", "max="), ("c", "min=!"), ("d", "max=!")] {
            let result = format!("{name}_{right}");
            params.push(format!("{left} {result}"));
            stmts += &format!("  {result} {op} x_{right}(i) {factor} where i in 0:k\n");
            for run in &mut runs {
                run.push(format!("{result}=random:{seed}"));
            }
            results.push(result);
        }
        for run in &mut runs {
            run.push(format!("x_{right}=random:{}", seed + 20));
        }
    }
    let definition = format!(
        "def f({}) -> ({}) {{\n{stmts}}}",
        params.join(", "),
        results.join(", ")
    );
    let mut made = case(&definition, "", target, &["--size=N=9".to_string()])?;
    made.runs = runs.to_vec();
    Some(made)
}

#[test]
fn least_and_largest_of_every_type_into_every_type() {
    for target in TARGETS {
        let cases: Vec<Case> = TYPES
            .iter()
            .filter_map(|(left, _)| of_all_types(left, target))
            .collect();
        assert_eq!(cases.len(), TYPES.len(), "of {target} are taken");
        check(&cases);
    }
}

/// The same of the columns of a matrix, under a schedule.
fn of_columns(left: &str, right: &str, op: &str, schedule: &str, target: &str) -> Option<Case> {
    let factor = TYPES.iter().find(|(name, _)| *name == right)?.1;
    let definition = format!(
        "def f({right}(M,N) A, int k, {left}(N) y) -> (y) {{\n  \
         y(j) {op} A(i,j) {factor} where i in 0:k\n}}"
    );
    let sizes = ["--size=M=9", "--size=N=5"].map(String::from);
    let schedule = schedule.replace("TERM", &format!("A(i,j) {factor}"));
    let mut made = case(&definition, &schedule, target, &sizes)?;
    let data = |k: &str| ["A=random:3", "y=random:5", k].map(String::from).to_vec();
    made.runs = ["k=0", "k=1", "k=9"].map(data).to_vec();
    Some(made)
}

#[test]
fn least_and_largest_gathered_in_every_way() {
    let threads = [
        "precompute(TERM, j, v, w)",
        "split(i, a, b, 4) precompute(TERM, b, v, w)",
        "parallelize(i, CPUThread, ParallelReduction)",
        "split(i, a, b, 2) parallelize(a, CPUThread, Temporary)",
        "parallelize(i, CPUVector, ParallelReduction)",
    ];
    let threads_in_place = [
        "reorder(i, j) parallelize(i, CPUThread, Atomics)",
        "reorder(i, j) parallelize(i, CPUThread, Temporary)",
        "reorder(i, j) parallelize(j, CPUVector, NoRaces)",
    ];
    let units = [
        "precompute(TERM, j, v, w)",
        "parallelize(i, GPUThread, ParallelReduction)",
        "parallelize(j, GPUBlock, NoRaces) parallelize(i, GPUThread, ParallelReduction)",
        "split(i, a, b, 4) parallelize(j, GPUBlock, NoRaces) \
         parallelize(b, GPUGroup(4), ParallelReduction)",
        "split(i, a, b, 4) parallelize(j, GPUBlock, NoRaces) \
         parallelize(a, GPUWarp, Atomics) parallelize(b, GPUThread, Atomics)",
    ];
    let units_in_place = [
        "reorder(i, j) parallelize(i, GPUBlock, Atomics)",
        "reorder(i, j) parallelize(i, GPUThread, Atomics)",
        "reorder(i, j) parallelize(i, GPUBlock, Temporary)",
    ];
    let pairs = [
        ("int8", "int64"),
        ("int8", "uint16"),
        ("uint32", "int64"),
        ("int32", "uint32"),
        ("bool", "double"),
        ("bool", "int8"),
        ("float", "double"),
        ("half", "double"),
        // Compared as floats, so that no left side gathers them; a half would round each time.
        ("int32", "double"),
        ("uint8", "float"),
        ("int64", "double"),
        ("uint64", "double"),
    ];
    let compared = |(left, right): &(&str, &str)| left.contains("int") && !right.contains("int");
    for (target, own, in_place) in [
        ("c", threads, threads_in_place),
        ("cuda", units, units_in_place),
    ] {
        let mut cases = Vec::new();
        for schedule in own.iter().chain(&in_place) {
            let everywhere = own.contains(schedule);
            let of = |pair: &&(&str, &str)| everywhere || (!compared(pair) && pair.0 != "half");
            for (left, right) in pairs.iter().filter(of) {
                for op in ["min=", "max=", "min=!", "max=!"] {
                    let made = of_columns(left, right, op, schedule, target);
                    assert!(made.is_some(), "{left} {op} {right}: {schedule}");
                    cases.extend(made);
                }
            }
        }
        check(&cases);
    }
}
