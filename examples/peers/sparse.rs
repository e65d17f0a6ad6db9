//! Operations whose results are sparse, against the libraries of `sparse.cpp`: everybody makes a new
//! result in each call; a column more shows ours where the arrays of the call before are lent.

use crate::given::{Given, int};
use crate::{Peers, ROUNDS};
use sparsec::diagnostic::Sources;
use sparsec::driver::{self, Request, Source, compile::ScheduleChoice};
use sparsec::emit::{Unit, c};
use std::ffi::{CString, c_char, c_void};
use std::path::Path;
use std::process::Command;

const MATRICES: &[&str] = &[
    "poisson3d_p2.mtx.gz",
    "laplace2d_700.mtx.gz",
    "powerlaw_131k.mtx.gz",
    "rotor.mtx.gz",
    "copter2.mtx.gz",
    "elasticity3d.mtx.gz",
    "debian_depends.mtx.gz",
    "bayer10.mtx.gz",
    "bcsstk13.mtx.gz",
];

/// A product of more multiplications is left out: all contestants together would take minutes.
const MOST_PRODUCTS: i64 = 100_000_000;

/// The arrays that `ours` gets; the result's are `made`, `*room` is how many elements they hold.
const HEAD: &str = "#include \"ours.h\"
#define POS(m) a[3 * m]
#define MATRIX(m) a[3 * m], a[3 * m + 1], a[3 * m + 2]
#define RESULT (int32_t **)&made[0], (int32_t **)&made[1], (double **)&made[2], *room
int ours(const int64_t *d, void *const *a, void **made, int64_t *room) {
";

pub struct Operation {
    pub name: &'static str,
    /// Of its peers.
    key: &'static str,
    program: &'static str,
    /// What counts first and may run in several threads; none where there is one way.
    counted: Option<&'static str>,
    ours: &'static str,
    /// Whether the first call makes the coordinates and those that are measured find them.
    kept: bool,
    /// Whether the result has the columns of the operand as rows.
    turned: bool,
    /// Whether elements to pack come in any order.
    shuffled: bool,
    target: f64,
}

const PLAIN: Operation = Operation {
    name: "",
    key: "",
    program: "",
    counted: None,
    ours: "",
    kept: false,
    turned: false,
    shuffled: false,
    target: 1.0,
};

/// Memory of `sparsec_pack` is taken as a whole, and freed by the one who measures.
const PACK: &str = "static const sparsec_level_spec levels[] = {{SPARSEC_DENSE, 0, 0}, {SPARSEC_COMPRESSED, 0, 1}};
    static const sparsec_spec spec = {\"A\", SPARSEC_FLOAT64, 2, 32, levels, NULL};
    sparsec_tensor t = {0};
    const int error = sparsec_pack(&t, &spec, d, d[2], (const int64_t *)a[9], a[12]);
    (void)room;
    if (error) return error;
    made[0] = sparsec_take(&t.levels[1].pos);
    made[1] = sparsec_take(&t.levels[1].crd);
    made[2] = sparsec_take(&t.vals);
    sparsec_free_tensor(&t);
    return 0;";

pub fn operations() -> Vec<Operation> {
    let rows = Some("parallelize(i, CPUThread(dynamic, 64), NoRaces)");
    let even = Some("parallelize(i, CPUThread, NoRaces)");
    vec![
        Operation {
            name: "SpGEMM A A",
            key: "product",
            program: "C(i,j) = A(i,k) * A(k,j)",
            counted: rows,
            ours: "k_raw(d[0], MATRIX(0), RESULT)",
            ..PLAIN
        },
        Operation {
            name: "SpGEMM A A^T",
            key: "product A^T",
            program: "C(i,j) = A(i,k) * A(j,k)",
            counted: rows,
            ours: "k_raw(d[0], d[1], MATRIX(0), RESULT)",
            ..PLAIN
        },
        Operation {
            name: "SpGEMM A A, unsorted",
            key: "product, unsorted",
            program: "C(i,j) = A(i,k) * A(k,j)",
            counted: rows,
            ours: "k_raw(d[0], MATRIX(0), RESULT)",
            ..PLAIN
        },
        Operation {
            name: "SpGEMM A A^T, unsorted",
            key: "product A^T, unsorted",
            program: "C(i,j) = A(i,k) * A(j,k)",
            counted: rows,
            ours: "k_raw(d[0], d[1], MATRIX(0), RESULT)",
            ..PLAIN
        },
        Operation {
            name: "SpGEMM A A, coordinates kept",
            key: "product, kept",
            program: "C(i,j) = A(i,k) * A(k,j)",
            counted: rows,
            ours: "made[2] ? k_values_raw(d[0], MATRIX(0), made[0], made[1], made[2]) : k_raw(d[0], MATRIX(0), RESULT)",
            kept: true,
            ..PLAIN
        },
        Operation {
            name: "add, coordinates kept",
            key: "add",
            program: "C(i,j) = A(i,j) + B(i,j)",
            counted: even,
            ours:
                "made[2] ? k_values_raw(d[0], d[1], MATRIX(0), MATRIX(1), made[0], made[1], made[2])
                : k_raw(d[0], d[1], MATRIX(0), MATRIX(1), RESULT)",
            kept: true,
            ..PLAIN
        },
        Operation {
            name: "add",
            key: "add",
            program: "C(i,j) = A(i,j) + B(i,j)",
            counted: even,
            ours: "k_raw(d[0], d[1], MATRIX(0), MATRIX(1), RESULT)",
            target: 1.1,
            ..PLAIN
        },
        Operation {
            name: "add three",
            key: "add three",
            program: "C(i,j) = A(i,j) + B(i,j) + D(i,j)",
            counted: even,
            ours: "k_raw(d[0], d[1], MATRIX(0), MATRIX(1), MATRIX(2), RESULT)",
            target: 1.2,
            ..PLAIN
        },
        Operation {
            name: "transpose",
            key: "transpose",
            program: "C(j,i) = A(i,j)",
            ours: "k_raw(d[0], d[1], MATRIX(0), RESULT)",
            turned: true,
            ..PLAIN
        },
        Operation {
            name: "CSR to COO",
            key: "to COO",
            program: "C(i,j) = A(i,j)",
            ours: "k_raw(d[0], d[1], MATRIX(0), (int32_t **)&made[3], (int32_t **)&made[0], (int32_t **)&made[1], (double **)&made[2], *room)",
            ..PLAIN
        },
        Operation {
            name: "packing, sorted",
            key: "pack",
            ours: PACK,
            ..PLAIN
        },
        Operation {
            name: "packing, shuffled",
            key: "pack",
            ours: PACK,
            shuffled: true,
            ..PLAIN
        },
    ]
}

type Ours = unsafe extern "C" fn(*const i64, *const *mut c_void, *mut *mut c_void, *mut i64) -> i32;
type Measure = unsafe extern "C" fn(
    *const c_char,
    *const Ours,
    *const bool,
    i32,
    *const i64,
    *const *mut c_void,
    i64,
    i32,
    i32,
    *mut f64,
    *mut i64,
) -> f64;

/// One operation's table.
pub fn table(operation: &Operation, folder: &Path, peers: &Peers, threads: i32) {
    let names = peers.names("sparse_peer_name", operation.key);
    let once = |script| format!("assemble(C, once) {script}");
    let plain = compile(operation, operation.kept.then(|| once("")).as_deref());
    let counted = operation.counted.map(|script| match operation.kept {
        true => compile(operation, Some(&once(script))),
        false => compile(operation, Some(script)),
    });
    let mut kernels = vec![(&plain, operation.kept)];
    let mut heads = vec!["no schedule ms"];
    if operation.kept {
        heads = vec!["one thread ms"];
    }
    if let Some(counted) = &counted {
        kernels.push((counted, operation.kept));
        heads.push(match operation.kept {
            true => "shared out ms",
            false => "counted first ms",
        });
    }
    if !operation.program.is_empty() && !operation.kept {
        kernels.push((&plain, true));
        heads.push("arrays of before ms");
    }
    // What is measured against new arrays has new arrays too.
    let fresh = 1 + usize::from(counted.is_some());
    println!(
        "| {} | stored | {} | {} ms | best peer / no schedule | best peer / best |",
        operation.name,
        heads.join(" | "),
        names.join(" ms | "),
    );
    println!("|---|{}", "---:|".repeat(heads.len() + names.len() + 3));
    let (mut product, mut best_product, mut count) = (1.0f64, 1.0f64, 0);
    for input in MATRICES {
        let Some(mut given) = Given::load(&folder.join(input), operation.shuffled) else {
            println!("| {input} | skipped: no such file |");
            continue;
        };
        let products = given.products(operation.key);
        if products > MOST_PRODUCTS {
            println!("| {input} | skipped: {products} multiplications |");
            continue;
        }
        let (times, stored) = measure(operation, &kernels, &mut given, names.len(), peers, threads);
        let peer = times[kernels.len()..]
            .iter()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let best = times[..fresh].iter().copied().fold(f64::INFINITY, f64::min);
        product *= peer / times[0];
        best_product *= peer / best;
        count += 1;
        let cell = |t: &f64| match t.is_finite() {
            true => format!("{:.2}", 1e3 * t),
            false => "-".to_string(),
        };
        let cells: Vec<String> = times.iter().map(cell).collect();
        println!(
            "| {input} | {stored} | {} | {:.2} | {:.2} |",
            cells.join(" | "),
            peer / times[0],
            peer / best
        );
    }
    if count > 0 {
        let mean = |product: f64| product.powf(1.0 / f64::from(count));
        println!(
            "| **geometric mean** (target {}) | {}| **{:.2}** | **{:.2}** |\n",
            operation.target,
            "| ".repeat(heads.len() + names.len() + 1),
            mean(product),
            mean(best_product)
        );
    }
}

/// The median of each contestant, and how many elements the result stores.
fn measure(
    operation: &Operation,
    kernels: &[(&libloading::Library, bool)],
    given: &mut Given,
    peer_count: usize,
    peers: &Peers,
    threads: i32,
) -> (Vec<f64>, i64) {
    let rows = given.extents[usize::from(operation.turned)];
    let again: Vec<bool> = kernels.iter().map(|&(_, again)| again).collect();
    let mut times = vec![f64::INFINITY; (kernels.len() + peer_count) * ROUNDS];
    let key = CString::new(operation.key).unwrap();
    let mut stored = 0;
    let args = given.arrays();
    // SAFETY: the signatures of our own text.
    let worst = unsafe {
        let measure = peers.library.get::<Measure>(b"measure_sparse").unwrap();
        let ours: Vec<Ours> = kernels
            .iter()
            .map(|(library, _)| *library.get::<Ours>(b"ours").unwrap())
            .collect();
        measure(
            key.as_ptr(),
            ours.as_ptr(),
            again.as_ptr(),
            int(kernels.len()),
            given.extents.as_ptr(),
            args.as_ptr(),
            rows,
            int(ROUNDS),
            threads,
            times.as_mut_ptr(),
            &raw mut stored,
        )
    };
    assert!(
        worst < 1e-9,
        "{}: results differ by {worst:e}",
        operation.name
    );
    let medians = times.chunks_mut(ROUNDS).map(|own| {
        own.sort_by(f64::total_cmp);
        own[ROUNDS / 2]
    });
    (medians.collect(), stored)
}

/// The kernel as a library with one function `ours`.
fn compile(operation: &Operation, script: Option<&str>) -> libloading::Library {
    let folder = tempfile::tempdir().unwrap().keep();
    let result = match operation.key {
        "to COO" => "coo",
        "product, unsorted" | "product A^T, unsorted" => "{dense, compressed(unordered)}",
        _ => "csr",
    };
    // Packing is the header's; its kernel is there for the header alone.
    let statement = match operation.program {
        "" => "C(i,j) = A(i,j)",
        statement => statement,
    };
    let mut tensors: Vec<&str> = ["A", "B", "D"]
        .into_iter()
        .filter(|t| statement.contains(&format!("{t}(")))
        .collect();
    let parameters: Vec<String> = tensors.iter().map(|t| format!("double(M,N) {t}")).collect();
    tensors.push("C");
    let formats: Vec<String> = tensors
        .iter()
        .map(|&t| format!("{t}: {}", if t == "C" { result } else { "csr" }))
        .collect();
    let schedule = script.map_or_else(String::new, |s| format!("schedule k for c {{ {s} }}\n"));
    let text = format!(
        "def k({}) -> (C) {{ {statement} }}\nformat k {{ {} }}\n{schedule}",
        parameters.join(", "),
        formats.join(", ")
    );
    let program = folder.join("ours.tc");
    std::fs::write(&program, text).unwrap();
    let mut sources = Sources::default();
    let mut request = Request::new(Source::File(program));
    if script.is_none() {
        request.schedule = ScheduleChoice::Default;
    }
    let compiled = match driver::compile(&request, &mut sources) {
        Ok(compiled) => compiled,
        Err(failure) => panic!("{failure:?}"),
    };
    let unit = Unit {
        name: "ours".to_string(),
        kernels: compiled.kernels,
    };
    for file in c::emit(&unit) {
        std::fs::write(folder.join(file.name), file.content).unwrap();
    }
    let body = if operation.program.is_empty() {
        format!("    {}\n}}\n", operation.ours)
    } else {
        let stored = match (operation.key, operation.turned) {
            ("to COO", _) => "((const int32_t *)made[3])[1]",
            (_, true) => "((const int32_t *)made[0])[d[1]]",
            (_, false) => "((const int32_t *)made[0])[d[0]]",
        };
        format!(
            "    const int error = {};\n    if (!error) *room = {stored};\n    return error;\n}}\n",
            operation.ours
        )
    };
    std::fs::write(folder.join("wrapper.c"), format!("{HEAD}{body}")).unwrap();
    let flags =
        "-std=gnu11 -O3 -march=native -ffp-contract=fast -fno-math-errno -fopenmp -shared -fPIC -w";
    let cc = std::env::var("KERNEL_CC").unwrap_or_else(|_| "cc".to_string());
    let status = Command::new(cc)
        .current_dir(&folder)
        .args(flags.split(' '))
        .args(["-o", "ours.so", "ours.c", "wrapper.c", "-lm"])
        .status();
    assert!(status.unwrap().success());
    // SAFETY: our own text.
    unsafe { libloading::Library::new(folder.join("ours.so")).unwrap() }
}
