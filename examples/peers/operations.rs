//! What is measured: programs, schedules, inputs and targets.

const MATRICES: &[&str] = &[
    "poisson3d_p2.mtx.gz",
    "laplace2d_700.mtx.gz",
    "debian_words.mtx.gz",
    "powerlaw_131k.mtx.gz",
    "rotor.mtx.gz",
    "gowalla.mtx.gz",
    "copter2.mtx.gz",
    "short_wide.mtx.gz",
    "elasticity3d.mtx.gz",
    "debian_depends.mtx.gz",
    "pushpull.mtx",
    "Groebner_id2003_aug.mtx.gz",
    "lp_fit2d.mtx.gz",
    "bayer10.mtx.gz",
    "bcsstk13.mtx.gz",
];
const TENSORS: &[&str] = &[
    "mnist_2500.tns.gz",
    "debian_trigrams.tns.gz",
    "wn18rr.tns.gz",
    "openflights.tns.gz",
    "fb15k237_valid.tns",
    "umls.tns",
];
const TENSORS4: &[&str] = &[
    "flights4.tns.gz",
    "debian_order4.tns.gz",
    "splatt_med4.tns.gz",
    "yago_time.tns.gz",
    "c2_integrals.tns.gz",
];

/// The extents of an input and how much it stores.
#[derive(Clone, Default)]
pub struct Shape {
    /// Of the tensor, then the number of columns.
    pub extents: Vec<i64>,
    pub stored: i64,
    /// Of each level.
    pub positions: Vec<i64>,
}

/// Which schedule an input gets.
#[derive(Clone, Copy)]
pub enum Choice {
    First,
    Rule(fn(&Shape) -> usize),
    /// The one that was fastest in a run before the one that counts.
    Fastest,
}

/// One operation: our program and schedules, and how they are called: `d` are the extents,
/// `a` the operands' arrays, `*out` the result.
pub struct Operation {
    pub name: String,
    /// Of its peers.
    pub key: &'static str,
    pub program: &'static str,
    pub schedules: &'static [&'static str],
    /// Which schedule an input gets, and the rule in words.
    pub choose: Choice,
    pub rule: &'static str,
    pub defines: Vec<(String, i64)>,
    /// Files, or the extents of dense operands.
    pub inputs: Vec<String>,
    /// Of the sparse operand; 0 if there is none.
    pub order: usize,
    pub columns: i64,
    /// In single precision.
    pub single: bool,
    /// Whether the program's sizes are those of the input, `[B,IP,OP,rows,columns,K]`, as
    /// a library that generates code for each shape has them.
    pub sized: bool,
    pub ours: &'static str,
    /// How the kernel without a schedule is called, where its parameters are others.
    pub unscheduled: &'static str,
    /// How many elements the dense operands and the result have.
    pub operands: fn(&Shape) -> Vec<i64>,
    pub result: fn(&Shape) -> i64,
    /// The geometric mean to reach.
    pub target: f64,
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

fn columns(count: i64) -> Vec<(String, i64)> {
    vec![("COLS".to_string(), count.min(32))]
}

pub fn operations() -> Vec<Operation> {
    let spmm = |count: i64, target: f64| Operation {
        name: format!("SpMM, {count} columns"),
        key: "spmm",
        program: "testdata/scheduled/spmm.tc",
        schedules: &["spmm_cpu"],
        choose: Choice::First,
        rule: "",
        defines: vec![("COLS".to_string(), count)],
        inputs: names(MATRICES),
        order: 2,
        columns: count,
        single: false,
        sized: false,
        ours: "spmm_raw(d[0], d[1], d[2], a[0], a[1], a[2], a[3], *out)",
        unscheduled: "",
        operands: |s| vec![s.extents[1] * s.extents[2]],
        result: |s| s.extents[0] * s.extents[2],
        target,
    };
    let sddmm = |count: i64| Operation {
        name: format!("SDDMM, {count} columns"),
        key: "sddmm",
        program: "testdata/scheduled/sddmm.tc",
        schedules: &["sddmm_cpu", "sddmm_rows_cpu"],
        choose: Choice::Rule(|s| usize::from(s.extents[2] <= 64)),
        rule: "`sddmm_rows_cpu` up to 64 columns, else `sddmm_cpu`.",
        defines: vec![],
        inputs: names(MATRICES),
        order: 2,
        columns: count,
        single: false,
        sized: false,
        ours: "static int32_t *pos, *crd; static double *v;
    sddmm_raw(d[0], d[1], d[2], a[0], a[1], a[2], a[3], a[4], &pos, &crd, &v);
    *out = v",
        unscheduled: "sddmm_raw(d[0], d[1], d[2], a[0], a[1], a[2], a[3], a[4], 0, 0, *out)",
        operands: |s| vec![s.extents[0] * s.extents[2], s.extents[1] * s.extents[2]],
        result: |s| s.stored,
        target: 1.15,
    };
    vec![
        Operation {
            name: "SpMV".to_string(),
            key: "spmv",
            program: "testdata/scheduled/spmv.tc",
            schedules: &["spmv_cpu", "spmv_ahead_cpu", "spmv_lanes_cpu", "spmv_vector_cpu", "spmv_balanced_cpu"],
            choose: Choice::Fastest,
            rule: "Of `spmv_cpu`, `spmv_ahead_cpu`, `spmv_lanes_cpu`, `spmv_vector_cpu` and `spmv_balanced_cpu` the one that was fastest against the peers in a run before.",
            defines: vec![],
            inputs: names(MATRICES),
            order: 2,
            columns: 0,
            single: false,
            sized: false,
            ours: "spmv_raw(d[0], d[1], a[0], a[1], a[2], a[3], *out)",
            unscheduled: "",
            operands: |s| vec![s.extents[1]],
            result: |s| s.extents[0],
            target: 0.95,
        },
        spmm(4, 0.95),
        spmm(32, 1.05),
        spmm(128, 1.05),
        sddmm(32),
        sddmm(128),
        Operation {
            name: "MTTKRP, order 3, rank 32".to_string(),
            key: "mttkrp3",
            program: "testdata/scheduled/mttkrp3.tc",
            schedules: &["mttkrp_cpu", "mttkrp_rows_cpu"],
            choose: Choice::Rule(|s| usize::from(s.stored < 2 * s.positions[1])),
            rule: "`mttkrp_rows_cpu` below two elements a fibre, else `mttkrp_cpu`.",
            defines: vec![],
            inputs: names(TENSORS),
            order: 3,
            columns: 32,
            single: false,
            sized: false,
            ours: "mttkrp3_raw(d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], *out)",
            unscheduled: "",
            operands: |s| vec![s.extents[1] * s.extents[3], s.extents[2] * s.extents[3]],
            result: |s| s.extents[0] * s.extents[3],
            target: 1.5,
        },
        Operation {
            name: "MTTKRP, order 4, rank 32".to_string(),
            key: "mttkrp4",
            program: "testdata/scheduled/mttkrp4.tc",
            schedules: &["mttkrp4_registers_cpu"],
            choose: Choice::First,
            rule: "",
            defines: vec![],
            inputs: names(TENSORS4),
            order: 4,
            columns: 32,
            single: false,
            sized: false,
            ours: "mttkrp4_raw(d[0], d[1], d[2], d[3], d[4], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], *out)",
            unscheduled: "",
            operands: |s| (1..4).map(|k| s.extents[k] * s.extents[4]).collect(),
            result: |s| s.extents[0] * s.extents[4],
            target: 1.5,
        },
        Operation {
            name: "TTV".to_string(),
            key: "ttv",
            program: "testdata/scheduled/ttv_sparse.tc",
            schedules: &["ttv_once_cpu"],
            choose: Choice::First,
            rule: "",
            defines: vec![],
            inputs: names(TENSORS),
            order: 3,
            columns: 0,
            single: false,
            sized: false,
            ours: "ttv_raw(d[0], d[1], d[2], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], 0, 0, 0, 0, *out)",
            unscheduled: "",
            operands: |s| vec![s.extents[2]],
            result: |s| s.positions[1],
            target: 0.9,
        },
        Operation {
            name: "TTM, 32 columns".to_string(),
            key: "ttm",
            program: "testdata/scheduled/ttm.tc",
            schedules: &["ttm_cpu"],
            choose: Choice::First,
            rule: "",
            defines: columns(32),
            inputs: names(TENSORS),
            order: 3,
            columns: 32,
            single: false,
            sized: false,
            ours: "static int32_t *p1, *c1, *p2, *c2; static double *v;
    ttm_raw(d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], &p1, &c1, &p2, &c2, &v);
    *out = v",
            unscheduled: "ttm_raw(d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], 0, 0, 0, 0, *out)",
            operands: |s| vec![s.extents[2] * s.extents[3]],
            result: |s| s.positions[1] * s.extents[3],
            target: 1.15,
        },
        Operation {
            name: "GEMM".to_string(),
            key: "gemm",
            program: "testdata/scheduled/gemm.tc",
            schedules: &["gemm_cpu"],
            choose: Choice::First,
            rule: "",
            defines: vec![],
            inputs: names(&["256 x 256 x 256", "512 x 512 x 512", "1024 x 1024 x 1024"]),
            order: 0,
            columns: 0,
            single: false,
            sized: false,
            ours: "gemm_raw(d[0], d[1], d[2], a[0], a[1], *out)",
            unscheduled: "",
            operands: |s| vec![s.extents[0] * s.extents[1], s.extents[1] * s.extents[2]],
            result: |s| s.extents[0] * s.extents[2],
            target: 0.7,
        },
        conv2d(true),
        conv2d(false),
    ]
}

/// `sized`: the sizes stand in the program.
fn conv2d(sized: bool) -> Operation {
    let (name, rule, ours) = if sized {
        (
            "conv2d, float (batch x channels in x out x rows x columns x kernel)",
            "The sizes stand in the program, since oneDNN makes its kernel for them too; its \
             reordering of operands is not timed.",
            "conv2d_raw(a[0], a[1], *out)",
        )
    } else {
        (
            "conv2d, float, sizes unknown to the compiler",
            "The same kernel for all sizes; oneDNN knows them.",
            "conv2d_raw(d[0], d[1], d[3] + d[5] - 1, d[4] + d[5] - 1, d[2], d[5], d[5], a[0], a[1], *out)",
        )
    };
    Operation {
        name: name.to_string(),
        key: "conv2d",
        program: "testdata/scheduled/conv2d.tc",
        schedules: &["conv2d_cpu"],
        choose: Choice::First,
        rule,
        defines: vec![],
        inputs: names(&["1 x 64 x 64 x 56 x 56 x 3", "1 x 128 x 128 x 28 x 28 x 3"]),
        order: 0,
        columns: 0,
        single: true,
        sized,
        ours,
        unscheduled: "",
        operands: |s| {
            let e = &s.extents;
            vec![
                e[0] * e[1] * (e[3] + e[5] - 1) * (e[4] + e[5] - 1),
                e[2] * e[1] * e[5] * e[5],
            ]
        },
        result: |s| s.extents[0] * s.extents[2] * s.extents[3] * s.extents[4],
        target: 0.4,
    }
}
