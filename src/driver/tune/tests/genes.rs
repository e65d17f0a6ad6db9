//! What genes become: schedules that compile.

use super::{SPMM, space, space_for};
use crate::data::generate::Random;
use crate::diagnostic::Sources;
use crate::driver::tune::express::express;
use crate::driver::tune::space::Gene;
use crate::driver::{Request, Source, compile};
use crate::target::Target;

#[test]
fn loops_that_the_function_does_not_have_are_decided_on() {
    let blocks = "def f(double(M,N) A) -> (B) { B(i,j) = 2 * A(i,j) } format f { A: bcsr(2,2), B: bcsr(2,2) }";
    let named = |gene: &Gene| gene.name.contains("i_o");
    assert!(space(blocks).genes.iter().any(named));
}

/// The usual genes are what people write: tiles in registers, rows for threads.
#[test]
fn the_usual_genome_is_a_schedule_of_the_books() {
    let space = space(SPMM);
    let script = express(&space, &space.usual(0)).unwrap().join("\n");
    for piece in [
        "split(i, ",
        "reorder(",
        "precompute(A(i,j) * B(j,k)",
        "CPUVector",
        "CPUThread",
    ] {
        assert!(script.contains(piece), "{piece} in\n{script}");
    }
}

/// Of dense matrices a tile stays in registers, whose rows are unrolled, and rows of the other factor are copied
/// for it.
#[test]
fn the_usual_genome_of_dense_products_keeps_a_tile() {
    let gemm = "def gemm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }";
    let space = space(gemm);
    let script = express(&space, &space.usual(0)).unwrap();
    let wanted = [
        "split(i, i_t1, i_t2, 6)",
        "split(j, j_t3, j_t4, 16)",
        "reorder(j_t3, i_t1, k, i_t2, j_t4)",
        "precompute(B(k,j), {k, j_t4}, {k_t7, jt4_t8}, panel_t9)",
        "precompute(A(i,k) * B(k,j), {i_t2, j_t4}, {i_t2, j_t4}, w_t10)",
        "unroll(i_t2)",
        "parallelize(j_t4, CPUVector, NoRaces)",
        "parallelize(j_t3, CPUThread, NoRaces)",
    ];
    assert_eq!(script, wanted);
    let mut other = space.usual(0);
    let pack = space.genes.iter().position(|gene| gene.name == "S0.pack");
    other[pack.unwrap()] = 1;
    let script = express(&space, &other).unwrap().join("\n");
    assert!(!script.contains("panel"), "{script}");
    assert!(
        script.contains("reorder(i_t1, j_t3, k, i_t2, j_t4)"),
        "{script}"
    );
}

/// The rows of a convolution's tile are output channels, of which the input has none.
#[test]
fn rows_of_a_tile_share_what_vectors_read() {
    let space = space(
        "def conv(double(B,C,H,W) in, double(O,C,KH,KW) w) -> (out) { \
         out(b,o,h,x) +=! in(b, c, h + kh, x + kw) * w(o,c,kh,kw) where kh in 0:KH, kw in 0:KW }",
    );
    let script = express(&space, &space.usual(0)).unwrap().join("\n");
    for piece in [
        "split(o, o_t3, o_t4, 6)",
        "reorder(b, o_t3, h, x_t7, c, kh, kw, o_t4, x_t8)",
    ] {
        assert!(script.contains(piece), "{piece} in\n{script}");
    }
}

/// What shapes a schedule is tried first: one of them is the built-in vectorised product.
#[test]
fn shapes_are_tried_first() {
    let space = space(
        "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\nformat spmv { A: csr }",
    );
    let all = space.shapes(0);
    let scripts: Vec<Vec<String>> = all.iter().map(|g| express(&space, g).unwrap()).collect();
    let vectors = [
        "split(i, i_t1, i_t2, 32)",
        "reorder(i_t1, i_t2, j)",
        "parallelize(j, CPUVector, ParallelReduction)",
        "parallelize(i_t1, CPUThread, NoRaces)",
    ];
    assert!(
        scripts.iter().any(|script| script == &vectors),
        "{scripts:#?}"
    );
    let walked = |depth: &str| {
        scripts
            .iter()
            .any(|script| script.iter().any(|l| l.starts_with(depth)))
    };
    assert!(
        walked("pos(i_t1, p_t2, A(i,j))") && !walked("pos(j,"),
        "{scripts:#?}"
    );
}

const CHAIN: &str = "def chain(double(N,N) A, double(N,N) B, double(N) x) -> (y) { y(i) +=! A(i,j) * B(j,k) * x(k) }\n\
                     format chain { A: csr, B: csr }";
const LAYERS: &str = "def layers(double(N,K) x, double(K,M) w) -> (r) { h(n,m) +=! x(n,k) * w(k,m)  \
                      r(n,m) = max(h(n,m), 0) }";

/// Products are taken apart where some factors alone have a sum, and adjacent statements share loops.
#[test]
fn free_genes_begin_with_bases() {
    let commands = |text: &str| -> Vec<String> {
        let all = space(text).bases.into_iter();
        all.map(|base| base.commands.join("; ")).collect()
    };
    assert_eq!(commands(SPMM), [""]);
    let wanted = [
        "",
        "precompute(B(j,k) * x(k), {j}, {j_a0}, part0)",
        "precompute(A(i,j) * B(j,k), {i, k}, {i_a0, k_a0}, part0)",
    ];
    assert_eq!(commands(CHAIN), wanted);
    let wanted = ["", "join(S0, S1, n, m)", "join(S0, S1, n)"];
    assert_eq!(commands(LAYERS), wanted);
    let four = "def f(double(N,N) A, double(N,N) B, double(N,N) C, double(N) x) -> (y) \
                { y(i) +=! A(i,j) * B(j,k) * C(k,l) * x(l) }";
    let last = "precompute(C(k,l) * x(l), {k}, {k_a0}, part0); precompute(B(j,k) * part0(k), {j}, {j_a1}, part1)";
    assert!(
        commands(four).iter().any(|c| c == last),
        "{:#?}",
        commands(four)
    );
    // Both nests of what is taken apart are decided on.
    let space = space(CHAIN);
    let named = |name: &str| space.genes.iter().any(|gene| gene.name == name);
    assert!(named("S0.split.i") && named("part0.split.k"));
    let script = express(&space, &space.usual(1)).unwrap().join("\n");
    assert!(script.contains("parallelize(ja0_t7, CPUThread"), "{script}");
}

/// Whatever is drawn is accepted by all stages.
#[test]
fn what_is_drawn_compiles() {
    for target in [Target::C, Target::Cuda] {
        drawn_compiles(target);
    }
}

fn drawn_compiles(target: Target) {
    let mut begun = std::collections::BTreeSet::new();
    for text in [
        SPMM,
        "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\nformat spmv { A: csr }",
        "def gemm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }",
        "def two(double(N,N) A, double(N) x) -> (z) { y(i) +=! A(i,j) * x(j)  z(i) = y(i) + x(i) }\nformat two { A: csr }",
        CHAIN,
        LAYERS,
    ] {
        let space = space_for(target, text);
        let mut random = Random::new(3);
        let mut all = std::collections::BTreeSet::new();
        for _ in 0..40 {
            let genome = space.drawn(&mut random);
            begun.insert(space.bases[space.script(&genome).unwrap_err()].name.clone());
            let script = express(&space, &genome).unwrap();
            let mut request = Request::new(Source::Text {
                name: "f".to_string(),
                text: text.to_string(),
            });
            request.target = target;
            request.schedule = crate::driver::ScheduleChoice::Text {
                name: "drawn".to_string(),
                text: script.join("\n"),
            };
            let compiled = compile(&request, &mut Sources::default());
            assert!(compiled.is_ok(), "{}\n{compiled:?}", script.join("\n"));
            all.insert(script);
        }
        assert!(all.len() >= 10, "{}", all.len());
    }
    for base in ["free", "joined", "joined once", "apart B(j,k) * x(k)"] {
        assert!(begun.contains(base), "{base} in {begun:?}");
    }
}

/// Scripts of some genomes on a GPU, by what they say beside the usual.
fn on_a_gpu(text: &str, changes: &[(&str, usize)]) -> String {
    let space = space_for(Target::Cuda, text);
    let mut genome = space.usual(0);
    for (name, choice) in changes {
        let at = space
            .genes
            .iter()
            .position(|g| g.name == format!("S0.{name}"));
        genome[at.unwrap()] = *choice;
    }
    express(&space, &genome).unwrap().join("\n")
}

/// The four families of 001, and the tiles of 002.
#[test]
fn free_genes_of_a_gpu() {
    let spmv = "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }\nformat spmv { A: csr }";
    let gemm = "def gemm(double(M,K) A, double(K,N) B) -> (C) { C(i,j) +=! A(i,k) * B(k,j) }";
    let mttkrp = "def mttkrp(double(I,K,L) B, double(K,J) C, double(L,J) D) -> (A) { A(i,j) +=! B(i,k,l) * C(k,j) * D(l,j) }\nformat mttkrp { B: csf }";
    let sddmm = "def sddmm(double(M,N) A, double(M,K) B, double(N,K) D) -> (C) { C(i,j) +=! A(i,j) * B(i,k) * D(j,k) }\nformat sddmm { A: csr, C: csr }";
    let all = [
        (spmv, &[][..], "GPUGroup(8), ParallelReduction"),
        (spmv, &[("group", 1)], "GPUThread, NoRaces"),
        (
            spmv,
            &[("worker", 2)],
            "reorder(i_t4, it5_t7, it5_t6, pt1_t3, pt1_t2)",
        ),
        (SPMM, &[], "fuse(i, k_t1, i_t3)"),
        (SPMM, &[("walk", 3)], "GPUGroup(8), Segment"),
        (SPMM, &[("walk", 3), ("segment", 1)], "GPUThread, Atomics"),
        (mttkrp, &[], "GPUGroup(8), ParallelReduction"),
        (sddmm, &[("walk", 3)], "GPUGroup(8), ParallelReduction"),
        (gemm, &[], "promote(A, shared, k_t9)"),
        (gemm, &[("shared", 1)], "GPUThreadY, NoRaces"),
        // Sums of their own, without tiles.
        (
            gemm,
            &[("registers", 1)],
            "jt6_t7)\nunroll(it2_t3, 4)\nunroll(jt6_t7, 4)",
        ),
        (gemm, &[("order", 1)], "parallelize(j_t5, GPUBlockY"),
        (
            gemm,
            &[("order", 2)],
            "reorder(k_t9, r_t11, r_t12, r_t13, r_t14, k_t10)",
        ),
        (gemm, &[("unroll", 2)], "unroll(k_t10, 2)"),
        // A fourth of 100 rows.
        (gemm, &[("down", 4)], "split(i_t2, it2_t3, it2_t4, 25)"),
        (SPMM, &[("group", 1)], "reorder(j, r_t6)\n"),
        (
            SPMM,
            &[("group", 1), ("registers", 1)],
            "GPUThread, NoRaces)\nunroll(k_t2)",
        ),
        (SPMM, &[("order", 1)], "fuse(k_t1, i, i_t3)"),
        (spmv, &[("unroll", 2)], "unroll(pt1_t2, 4)"),
    ];
    let space = space_for(Target::Cuda, LAYERS);
    let joined = express(&space, &space.usual(1)).unwrap().join("\n");
    assert!(
        joined.contains("parallelize(S0.n, GPUBlock, NoRaces)"),
        "{joined}"
    );
    assert!(joined.contains("GPUThread, NoRaces"), "{joined}");
    for (text, changes, piece) in all {
        let script = on_a_gpu(text, changes);
        assert!(script.contains(piece), "{piece} in\n{script}");
        // What ignores races is above what is atomic.
        let ignored = script.contains("IgnoreRaces");
        let atomic = script.contains("Atomics") || script.contains("Segment");
        assert!(!ignored || atomic, "{script}");
    }
}
