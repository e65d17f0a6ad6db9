//! The race checker finds what iterations do to the same element: faults of each kind are planted
//! in the loop IR of kernels, beside their clean counterparts. One run, one thread.

mod support;

use sparsec::driver::watch::{Findings, Watched};
use sparsec::emit::watch::Watching;
use sparsec::loops::build as b;
use sparsec::loops::ir::{
    Array, ArrayId, Expr, Kernel, Literal, LoopTag, ReduceOp, Run, ScalarType, Stmt, Storage, Var,
    VarId,
};
use sparsec::loops::visit;
use support::{Case, compile, parse, races};

/// What the checker finds in the kernel with a fault, on this data.
fn findings(args: &[&str], limit: i64, plant: impl Fn(&mut Kernel)) -> Findings {
    found(args, Watching::All, limit, plant)
}

fn found(args: &[&str], watching: Watching, limit: i64, plant: impl Fn(&mut Kernel)) -> Findings {
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    let run = parse(&args);
    let compiled = compile(&run).unwrap_or_else(|e| panic!("{e}"));
    let case = Case::new(args.join(" "), compiled);
    let mut kernel = case.compiled.kernels[0].clone();
    plant(&mut kernel);
    let data: Vec<String> = run
        .operands
        .into_iter()
        .filter(|o| o.contains('='))
        .collect();
    let mut sources = sparsec::diagnostic::Sources::default();
    let kernels = std::slice::from_ref(&kernel);
    let watched = Watched::of(kernels, watching).expect("it shares loops out");
    let checker = watched
        .compiled(support::WATCHED_FLAGS, &mut sources)
        .unwrap_or_else(|f| panic!("{}", support::describe(&f, &sources)));
    support::check_with(&checker, 0, &kernel, &case, &data, limit).unwrap()
}

/// Without the fault the kernel is clean; with it, the checker says all of `what`, whether it
/// watches everything or what is not plainly apart.
fn finds(args: &[&str], what: &[&str], plant: impl Fn(&mut Kernel)) {
    for watching in [Watching::All, Watching::Unproved] {
        let clean = found(args, watching, i64::MAX, |_| {});
        assert_eq!(races(&clean).collect::<Vec<_>>(), [""; 0], "clean");
        let all: Vec<String> = races(&found(args, watching, i64::MAX, &plant)).collect();
        let fits = |race: &String| what.iter().all(|part| race.contains(part));
        assert!(
            all.iter().any(fits),
            "{watching:?}: {what:?} is not among {all:#?}"
        );
    }
}

/// Changes the statements, outer ones first.
fn each(body: &mut Vec<Stmt>, f: &mut impl FnMut(&mut Stmt)) {
    for stmt in body {
        f(stmt);
        visit::bodies_mut(stmt).into_iter().for_each(|b| each(b, f));
    }
}

/// The loops that are shared out, outer ones first.
fn shared(kernel: &mut Kernel, f: &mut impl FnMut(VarId, &mut LoopTag, &mut Vec<Stmt>)) {
    each(&mut kernel.body, &mut |stmt| {
        if let Stmt::For { var, tag, body, .. } = stmt
            && !tag.is_serial()
        {
            f(*var, tag, body);
        }
    });
}

fn plain(kernel: &mut Kernel) {
    each(&mut kernel.body, &mut |stmt| {
        if let Stmt::Store { atomic, .. } = stmt {
            *atomic = false;
        }
    });
}

/// Adds to what the kernel stores.
fn also(kernel: &mut Kernel, more: &Expr) {
    each(&mut kernel.body, &mut |stmt| {
        if let Stmt::Store { value, .. } = stmt {
            *value = b::add(value.clone(), more.clone());
        }
    });
}

fn array(kernel: &Kernel, name: &str) -> ArrayId {
    let at = kernel.arrays.iter().position(|a| a.name == name).unwrap();
    ArrayId(u32::try_from(at).unwrap())
}

fn load(kernel: &Kernel, name: &str, index: Expr) -> Expr {
    b::load(array(kernel, name), ScalarType::F64, index)
}

fn store(array: ArrayId, index: Expr, op: Option<ReduceOp>) -> Stmt {
    Stmt::Store {
        array,
        index,
        op,
        value: b::literal(Literal::Int(1), ScalarType::F64),
        atomic: false,
    }
}

fn index(var: VarId) -> Expr {
    b::var(var, ScalarType::I64)
}

const AXPY: &[&str] = &[
    "-e",
    "y(i)=x(i)",
    "-s",
    "parallelize(i,CPUThread,NoRaces)",
    "x=ones",
    "-d",
    "i:10",
];
const LANES: &[&str] = &[
    "-e",
    "y(i)=x(i)",
    "-s",
    "parallelize(i,CPUVector,NoRaces)",
    "x=ones",
    "-d",
    "i:10",
];
const SCATTER: &[&str] = &[
    "-e",
    "y(j)=A(i,j)*x(i)",
    "-s",
    "reorder(i,j),parallelize(i,CPUThread,Atomics)",
    "A=ones",
    "x=ones",
    "-d",
    "i:8",
    "-d",
    "j:6",
];
const COPIES: &[&str] = &[
    "-e",
    "y(j)=A(i,j)*x(i)",
    "-s",
    "reorder(i,j),parallelize(i,CPUThread,Temporary)",
    "A=ones",
    "x=ones",
    "-d",
    "i:8",
    "-d",
    "j:6",
];
const SUM: &[&str] = &[
    "-e",
    "s=x(i)",
    "-s",
    "parallelize(i,CPUThread,ParallelReduction)",
    "x=ones",
    "-d",
    "i:10",
];
const NESTED: &[&str] = &[
    "-e",
    "C(i,j)=A(i,j)",
    "-s",
    "parallelize(i,CPUThread,NoRaces),parallelize(j,CPUVector,NoRaces)",
    "A=ones",
    "-d",
    "i:5",
    "-d",
    "j:7",
];

#[test]
fn two_writes() {
    finds(
        SCATTER,
        &[
            "iterations of i race for y(0), 42 times",
            "writes it y_vals[j] +=",
        ],
        plain,
    );
}

#[test]
fn a_write_and_a_read() {
    let what = &[
        "race for y(0)",
        "writes it y_vals[i] = x_vals[i] + y_vals[",
        "reads it",
    ];
    finds(AXPY, what, |kernel| {
        let mut at = None;
        shared(kernel, &mut |var, _, _| at = Some(var));
        let before = b::max(b::sub(index(at.unwrap()), b::int(1)), b::int(0));
        also(kernel, &load(kernel, "y_vals", before));
    });
}

#[test]
fn a_read_that_comes_first() {
    let what = &["race for y(1)", "reads it", "writes it"];
    finds(AXPY, what, |kernel| {
        let mut at = None;
        shared(kernel, &mut |var, _, _| at = Some(var));
        let after = b::min(b::add(index(at.unwrap()), b::int(1)), b::int(9));
        also(kernel, &load(kernel, "y_vals", after));
    });
}

#[test]
fn an_atomic_update_and_a_read() {
    let what = &[
        "race for y(0)",
        "updates it atomically y_vals[j] +=",
        "reads it y_vals[j] +=",
    ];
    finds(SCATTER, what, |kernel| {
        also(kernel, &load(kernel, "y_vals", b::int(0)));
    });
}

#[test]
fn an_atomic_update_and_a_write() {
    let what = &[
        "race for y(0)",
        "updates it atomically y_vals[j] +=",
        "writes it y_vals[0] = 1",
    ];
    finds(SCATTER, what, |kernel| {
        let y = array(kernel, "y_vals");
        shared(kernel, &mut |_, _, body| {
            body.push(store(y, b::int(0), None))
        });
    });
}

#[test]
fn an_atomic_update_and_one_that_takes_turns() {
    let what = &[
        "race for y(0)",
        "updates it atomically",
        "updates it in a critical section",
    ];
    finds(SCATTER, what, |kernel| {
        let y = array(kernel, "y_vals");
        shared(kernel, &mut |_, _, body| {
            let mut turn = store(y, b::int(0), Some(ReduceOp::Max));
            if let Stmt::Store { atomic, .. } = &mut turn {
                *atomic = true;
            }
            body.push(turn);
        });
    });
}

#[test]
fn updates_that_take_turns_are_clean() {
    let mut args = SCATTER.to_vec();
    args[1] = "y(j) max= A(i,j)*x(i)";
    args.push("y=zeros");
    let clean = findings(&args, i64::MAX, |_| {});
    assert_eq!(races(&clean).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_scalar_that_is_not_reduced() {
    finds(
        SUM,
        &["iterations of i race for ", "writes it s", "+= x_vals[i]"],
        |kernel| {
            shared(kernel, &mut |_, tag, _| tag.retain_reductions(|_| false));
        },
    );
}

#[test]
fn a_threads_copy_is_accessed_as_a_whole() {
    let what = &[
        "race for y_copies[0]",
        "updates its thread's part",
        "reads it y_own[j] +=",
    ];
    finds(COPIES, what, |kernel| {
        let whole = load(kernel, "y_copies", b::int(0));
        shared(kernel, &mut |_, _, body| {
            each(body, &mut |stmt| {
                if let Stmt::Store { value, .. } = stmt {
                    *value = b::add(value.clone(), whole.clone());
                }
            });
        });
    });
}

#[test]
fn a_filled_copy_of_all_threads() {
    let what = &[
        "race for y_copies[",
        "updates its thread's part",
        "writes it memset(y_copies",
    ];
    finds(COPIES, what, |kernel| {
        let all = array(kernel, "y_copies");
        shared(kernel, &mut |_, _, body| {
            body.push(Stmt::Fill {
                array: all,
                start: b::int(0),
                count: b::int(6),
                value: b::literal(Literal::Int(0), ScalarType::F64),
            });
        });
    });
}

#[test]
fn an_array_that_is_copied() {
    let planted = |kernel: &mut Kernel| {
        let (x, y) = (array(kernel, "x_vals"), array(kernel, "y_vals"));
        let k = VarId(u32::try_from(kernel.vars.len()).unwrap());
        kernel.vars.push(Var {
            name: "k".to_string(),
            ty: ScalarType::I64,
            mutable: false,
        });
        shared(kernel, &mut |_, _, body| {
            body.push(Stmt::For {
                var: k,
                lo: b::int(0),
                hi: b::int(10),
                most: Some(10),
                step: 1,
                tag: LoopTag::default(),
                body: vec![Stmt::Store {
                    array: y,
                    index: index(k),
                    op: None,
                    value: b::load(x, ScalarType::F64, index(k)),
                    atomic: false,
                }],
            });
        });
    };
    finds(
        AXPY,
        &["race for y(", "writes it sparsec_copy(y_vals, x_vals, 10"],
        planted,
    );
}

#[test]
fn lanes() {
    finds(
        LANES,
        &["iterations of i race for y(0)", "writes it y_vals[i / 2] ="],
        |kernel| {
            each(&mut kernel.body, &mut |stmt| {
                if let Stmt::Store { index, .. } = stmt {
                    *index = b::binary(sparsec::loops::ir::BinaryOp::Div, index.clone(), b::int(2));
                }
            });
        },
    );
}

/// Both loops are shared out: which one's iterations meet is told apart.
#[test]
fn nested_loops() {
    let at_row = |of: usize| {
        move |kernel: &mut Kernel| {
            let mut vars = Vec::new();
            shared(kernel, &mut |var, _, _| vars.push(var));
            let c = array(kernel, "C_vals");
            let meets = index(vars[of]);
            shared(kernel, &mut |var, _, body| {
                if var == vars[1] {
                    body.push(store(c, meets.clone(), None));
                }
            });
        }
    };
    // C_vals[i]: all lanes of a row; C_vals[j]: all rows.
    finds(
        NESTED,
        &["iterations of j race for C(0,0)", "writes it C_vals[i] = 1"],
        at_row(0),
    );
    finds(
        NESTED,
        &["iterations of i race for C(0,0)", "writes it C_vals[j] = 1"],
        at_row(1),
    );
}

/// An array and a sum of an outer iteration: lanes compete for them, iterations of the outer
/// loop do not.
#[test]
fn what_an_iteration_owns() {
    let own = |at: fn(VarId) -> Expr| {
        move |kernel: &mut Kernel| {
            let w = ArrayId(u32::try_from(kernel.arrays.len()).unwrap());
            kernel.arrays.push(Array {
                name: "w".to_string(),
                elem: ScalarType::F64,
                storage: Storage::Local,
            });
            let sum = VarId(u32::try_from(kernel.vars.len()).unwrap());
            kernel.vars.push(Var {
                name: "sum".to_string(),
                ty: ScalarType::F64,
                mutable: true,
            });
            let one = b::literal(Literal::Int(1), ScalarType::F64);
            let mut outer = true;
            shared(kernel, &mut |var, tag, body| {
                if outer {
                    body.insert(0, Stmt::Declare { array: w, count: 8 });
                    let init = b::literal(Literal::Int(0), ScalarType::F64);
                    body.insert(0, Stmt::Let { var: sum, init });
                    outer = false;
                } else {
                    body.push(store(w, at(var), None));
                    if let Run::Lanes { reductions, .. } = &mut tag.run {
                        reductions.push((ReduceOp::Add, sum));
                    }
                    body.push(Stmt::Assign {
                        var: sum,
                        op: Some(ReduceOp::Add),
                        value: one.clone(),
                    });
                }
            });
        }
    };
    let clean = findings(NESTED, i64::MAX, own(index));
    assert_eq!(races(&clean).collect::<Vec<_>>(), [""; 0]);
    finds(
        NESTED,
        &["iterations of j race for w[2], 30 times"],
        own(|_| b::int(2)),
    );
    let unreduced = |kernel: &mut Kernel| {
        own(index)(kernel);
        shared(kernel, &mut |_, tag, _| tag.retain_reductions(|_| false));
    };
    finds(
        NESTED,
        &["iterations of j race for sum, 30 times"],
        unreduced,
    );
}

/// A loop over a row runs into the next one, which is another iteration's.
#[test]
fn a_row_that_is_too_long() {
    finds(
        NESTED,
        &["iterations of i race for C(1,0), 1 times", "writes it"],
        |kernel| {
            let mut ends = vec![b::int(2), b::int(8)].into_iter();
            each(&mut kernel.body, &mut |stmt| {
                if let Stmt::For { hi, .. } = stmt {
                    *hi = ends.next().expect("two loops");
                }
            });
        },
    );
}

/// Of many accesses, those of some elements are watched: all of theirs.
#[test]
fn elements_are_left_out_and_races_found() {
    let args = &["-d", "j:600"];
    let many: Vec<&str> = SCATTER[..8].iter().chain(args).copied().collect();
    let clean = findings(&many, 100, |_| {});
    assert!(clean.every >= 8 && clean.races.is_empty(), "{clean:?}");
    let found = findings(&many, 100, plain);
    let [race] = found.races.as_slice() else {
        panic!("{found:?}")
    };
    assert!(found.every >= 8 && found.complete, "{found:?}");
    // Of 7 * 600 meetings, those on the elements that were watched.
    assert!(race.count < 4200 && race.count >= 7, "{race:?}");
}

#[test]
fn what_the_schedule_answers_for_is_a_note() {
    let args: Vec<String> = SCATTER
        .iter()
        .map(|a| a.replace("Atomics", "IgnoreRaces"))
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let found = findings(&args, i64::MAX, |_| {});
    assert!(!found.races.is_empty() && !found.fails(), "{found:?}");
}

/// Tiles that share a row. The checker found these in one run before lowering asked of the whole
/// row, not of what is clipped to the tile, whether it lies in the tile.
const SHARED_ROWS: &[(&str, &str)] = &[
    (
        "def f(double(I,J) A, double(J) x) -> (y) { y(i) = A(i,j) * x(j) }
         format f { A: coo }
         schedule f { fuse(i,j,f) pos(f,p,A(i,j)) split(p,p0,p1,64) parallelize(p0,CPUThread,Atomics) }",
        "y(0)",
    ),
    (
        "def f(double(I,J,K) A, double(K) x) -> (y) { y(i,j) = A(i,j,k) * x(k) }
         format f { A: coo }
         schedule f {
           fuse(i,j,f) fuse(f,k,g) pos(g,p,A(i,j,k)) split(p,p0,p1,16) parallelize(p0,CPUThread,Atomics)
         }",
        "y(0,0)",
    ),
    (
        "def f(double(I,J,K) A, double(K) x) -> (y) { y(i,j) = A(i,j,k) * x(k) }
         format f { A: {dense, compressed(nonunique), singleton} }
         schedule f {
           fuse(i,j,f) fuse(f,k,g) pos(g,p,A(i,j,k)) split(p,p0,p1,16) parallelize(p0,CPUThread,Atomics)
         }",
        "y(0,0)",
    ),
];

/// One row of 1,000 ones.
fn one_row(program: &str, plant: impl Fn(&mut Kernel)) -> Findings {
    let folder = tempfile::tempdir().unwrap();
    let (source, data) = (folder.path().join("f.tc"), folder.path().join("A.tns"));
    std::fs::write(&source, program).unwrap();
    let above = if program.contains("(I,J,K)") {
        "1 1"
    } else {
        "1"
    };
    let lines: String = (1..=1000).map(|k| format!("{above} {k} 1\n")).collect();
    std::fs::write(&data, lines).unwrap();
    let data = format!("A={}", data.display());
    findings(
        &[source.to_str().unwrap(), &data, "x=ones"],
        i64::MAX,
        plant,
    )
}

#[test]
fn a_row_of_several_tiles() {
    for (program, element) in SHARED_ROWS {
        let found = one_row(program, |_| {});
        assert_eq!(races(&found).collect::<Vec<_>>(), [""; 0], "{program}");
        let planted: Vec<String> = races(&one_row(program, plain)).collect();
        let what = format!("iterations of p0 race for {element}, ");
        assert!(
            planted.iter().any(|race| race.starts_with(&what)),
            "{planted:?}"
        );
    }
}
