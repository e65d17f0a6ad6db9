//! Families of programs around two kernels that were wrong, whatever few cases were right:
//! tiles of positions whose rows are runs of repeated coordinates, and strided windows staged
//! in pieces. Each runs against the judge, on CPUs under the race checker, on the emulator
//! with all of its checks.

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
