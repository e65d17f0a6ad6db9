//! Whatever is written, resolving ends with a program or with errors.

use proptest::prelude::*;

use super::verify::verify;
use crate::diagnostic::{FileId, Span};
use crate::operators::ReduceOp;
use crate::program::{Options, resolve};
use crate::syntax::ast::{
    Assign, AssignOp, BinaryOp, Call, Def, Dim, Expr, ExprKind, File, FillValue, FormatEntry,
    FormatSpec, FormatUse, Ident, Item, LevelType, Notation, Number, Param, RangeClause, Reduction,
    Stmt, Typical, UnaryOp,
};

const SPAN: Span = Span {
    file: FileId(0),
    start: 0,
    end: 1,
};

fn ident(name: &str) -> Ident {
    Ident {
        name: name.to_owned(),
        span: SPAN,
    }
}

/// Few names, so that they meet in every role.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "A", "B", "x", "y", "a", "i", "j", "k", "M", "N", "f", "g", "exp", "max", "int", "fma",
    ])
    .prop_map(str::to_owned)
}

fn any_ident() -> impl Strategy<Value = Ident> {
    name().prop_map(|name| ident(&name))
}

fn any_expr() -> impl Strategy<Value = Expr> {
    let at = |kind| Expr { kind, span: SPAN };
    let leaf = prop_oneof![
        prop::sample::select(vec![0, 1, 3, u64::MAX])
            .prop_map(move |n| at(ExprKind::Number(Number::Int(n)))),
        prop::sample::select(vec![0.5, f64::INFINITY, f64::NAN])
            .prop_map(move |x| at(ExprKind::Number(Number::Float(x)))),
        name().prop_map(move |name| at(ExprKind::Name(name))),
        (any_ident(), 0u32..3).prop_map(move |(tensor, dim)| at(ExprKind::Extent { tensor, dim })),
        (any_ident(), any_ident())
            .prop_map(move |(base, member)| at(ExprKind::Member { base, member })),
    ];
    leaf.prop_recursive(5, 30, 3, move |inner| {
        let op = prop::sample::select(vec![
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::Rem,
            BinaryOp::Lt,
            BinaryOp::Eq,
            BinaryOp::And,
        ]);
        prop_oneof![
            3 => (any_ident(), prop::collection::vec(inner.clone(), 0..4))
                .prop_map(move |(callee, args)| at(ExprKind::Apply { callee, args })),
            2 => (op, inner.clone(), inner.clone()).prop_map(move |(op, a, b)| {
                at(ExprKind::Binary(op, Box::new(a), Box::new(b)))
            }),
            1 => (any::<bool>(), inner.clone()).prop_map(move |(neg, a)| {
                let op = if neg { UnaryOp::Neg } else { UnaryOp::Not };
                at(ExprKind::Unary(op, Box::new(a)))
            }),
            1 => (inner.clone(), inner.clone(), inner).prop_map(move |(c, a, b)| {
                at(ExprKind::Select(Box::new(c), Box::new(a), Box::new(b)))
            }),
        ]
    })
}

/// The left side's subscripts are plain variables more often than not.
fn any_stmt() -> impl Strategy<Value = Stmt> {
    let variable = prop::sample::select(vec!["i", "j", "k"]).prop_map(|name| Expr {
        kind: ExprKind::Name(name.to_owned()),
        span: SPAN,
    });
    let left = prop_oneof![
        4 => prop::collection::vec(variable, 0..3),
        1 => prop::collection::vec(any_expr(), 0..3),
    ];
    let op = prop::sample::select(vec![
        AssignOp::Set,
        AssignOp::Set,
        AssignOp::Reduce {
            op: Reduction::Builtin(ReduceOp::Add),
            init: false,
        },
        AssignOp::Reduce {
            op: Reduction::Builtin(ReduceOp::Max),
            init: true,
        },
        AssignOp::Reduce {
            op: Reduction::Builtin(ReduceOp::Or),
            init: true,
        },
    ]);
    let range = (any_ident(), any_expr(), any_expr()).prop_map(|(var, lo, hi)| RangeClause {
        var,
        lo,
        hi,
        span: SPAN,
    });
    let ranges = prop::collection::vec(range, 0..3);
    let assign = (any_ident(), left, op, any_expr(), ranges).prop_map(
        |(tensor, subscripts, op, rhs, ranges)| {
            Stmt::Assign(Assign {
                label: None,
                tensor,
                subscripts,
                op,
                rhs,
                ranges,
                span: SPAN,
            })
        },
    );
    let idents = prop::collection::vec(any_ident(), 0..3);
    let args = prop::collection::vec(any_expr(), 0..3);
    let call = (idents, any_ident(), args).prop_map(|(results, callee, args)| {
        Stmt::Call(Call {
            label: None,
            results,
            callee,
            args,
            span: SPAN,
        })
    });
    prop_oneof![5 => assign, 1 => call]
}

fn any_def(name: &'static str) -> impl Strategy<Value = Item> {
    let ty = prop::sample::select(vec![
        "double",
        "int",
        "bool",
        "half",
        "complex64",
        "byte",
        "no",
    ]);
    let dim = prop_oneof![
        4 => any_ident().prop_map(Dim::Name),
        1 => prop::sample::select(vec![0, 2, u64::MAX]).prop_map(|n| Dim::Const(n, SPAN)),
    ];
    let dims = prop::collection::vec(dim, 0..3);
    let param = (ty, dims, any_ident()).prop_map(|(ty, dims, name)| Param {
        ty: ident(ty),
        dims,
        name,
        span: SPAN,
    });
    let params = prop::collection::vec(param, 0..4);
    let stmts = prop::collection::vec(any_stmt(), 1..4);
    // What is assigned is returned, so that most functions get past the first checks.
    (params, stmts).prop_map(move |(params, stmts)| {
        let mut returns: Vec<Ident> = Vec::new();
        for stmt in &stmts {
            let assigned = match stmt {
                Stmt::Assign(assign) => vec![assign.tensor.clone()],
                Stmt::Call(call) => call.results.clone(),
            };
            returns.extend(assigned);
        }
        returns.sort_by(|a, b| a.name.cmp(&b.name));
        returns.dedup();
        Item::Def(Def {
            notation: Notation::Program,
            name: ident(name),
            params,
            returns,
            types: Vec::new(),
            stmts,
            span: SPAN,
        })
    })
}

fn any_format() -> impl Strategy<Value = Item> {
    let kind = prop::sample::select(vec!["dense", "compressed", "singleton", "hashed", "x"]);
    let level = (kind, any::<bool>()).prop_map(|(kind, nonunique)| LevelType {
        kind: ident(kind),
        properties: if nonunique {
            vec![ident("nonunique")]
        } else {
            Vec::new()
        },
        span: SPAN,
    });
    let named = prop::sample::select(vec!["csr", "coo", "coo99999999999999999999", "csf0", "ell"]);
    let spec = prop_oneof![
        prop::collection::vec(level, 0..3).prop_map(FormatSpec::Levels),
        named.prop_map(|name| FormatSpec::Named {
            name: ident(name),
            args: Vec::new(),
        }),
    ];
    let order = prop::option::of(prop::collection::vec(
        prop::sample::select(vec![0, 1, 2, u64::MAX]).prop_map(|mode| (mode, SPAN)),
        0..3,
    ));
    let fill = prop::option::of(prop::sample::select(vec![
        (FillValue::Float(1.5), SPAN),
        (FillValue::Float(f64::NAN), SPAN),
        (FillValue::Float(-1e300), SPAN),
        (FillValue::Int(i128::from(u64::MAX)), SPAN),
        (FillValue::Int(-i128::from(u64::MAX)), SPAN),
    ]));
    let typical = prop::option::of(prop::sample::select(vec![
        (Typical::Density(0.001), SPAN),
        (Typical::Density(f64::NAN), SPAN),
        (Typical::RowLength(-1.0), SPAN),
        (Typical::RowLength(8.0), SPAN),
    ]));
    let entry = (any_ident(), spec, order, fill, typical).prop_map(
        |(tensor, spec, order, fill, typical)| FormatEntry {
            tensor,
            spec,
            order,
            fill,
            typical,
            index: None,
            span: SPAN,
        },
    );
    prop::collection::vec(entry, 0..3).prop_map(|entries| {
        Item::FormatUse(FormatUse {
            def: ident("f"),
            entries,
            span: SPAN,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn never_panics(f in any_def("f"), g in any_def("g"), format in any_format()) {
        let file = File { items: vec![f, g, format] };
        match resolve(&[file], &Options::default()) {
            Ok(resolved) => {
                for function in &resolved.program.functions {
                    prop_assert_eq!(verify(function), Ok(()), "{}", function);
                }
            }
            Err(errors) => prop_assert!(!errors.is_empty()),
        }
    }
}

/// Right sides over the tensors of [`plausible_programs_keep_the_promises`].
fn plausible_expr() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "A(i,j)", "A(j,i)", "A(k,l)", "B(i,k)", "x(i)", "x(j)", "x(l)", "x(i+1)", "x(2*k)",
        "x(j+k)", "x(p(j))", "p(i)", "p(p(k))", "h(i)", "h(j)", "b(i)", "m(i)", "m(k)", "z(i)",
        "z(j)", "u(i)", "a", "s", "t(i)", "2", "0.5", "-3", "N", "i", "A.1", "t.0",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 16, 3, |inner| {
        let op = prop::sample::select(vec![
            "+", "+", "-", "*", "*", "*", "/", "%", "<", "==", "&&", "||",
        ]);
        let call = prop::sample::select(vec![
            "exp",
            "abs",
            "sqrtf",
            "float",
            "int",
            "square",
            "floor",
            "complex64",
            "bool",
            "-",
            "!",
        ]);
        prop_oneof![
            4 => (inner.clone(), op, inner.clone())
                .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            2 => (call, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("max({a}, {b})")),
            1 => (inner.clone(), inner.clone(), inner)
                .prop_map(|(c, a, b)| format!("({c} ? {a} : {b})")),
        ]
    })
}

fn plausible_stmt() -> impl Strategy<Value = String> {
    let left = prop::sample::select(vec!["y(i)", "t(i)", "r(i,j)", "n"]);
    let op = prop::sample::select(vec!["=", "=", "+=!", "+=", "max=!", "||=!"]);
    (left, op, plausible_expr(), any::<bool>()).prop_map(|(left, op, rhs, dynamic)| {
        let mut ranges = Vec::new();
        if rhs.contains("k)") || rhs.contains("k,") {
            ranges.push("k in 0:3");
        }
        if rhs.contains("l)") {
            ranges.push(if dynamic {
                "l in p(i):p(i+1)"
            } else {
                "l in 0:s"
            });
        }
        let clause = if ranges.is_empty() { "" } else { " where " };
        format!("{left} {op} {rhs}{clause}{}\n", ranges.join(", "))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn plausible_programs_keep_the_promises(
        stmts in prop::collection::vec(plausible_stmt(), 1..4),
        sparse in any::<bool>(),
    ) {
        let format = if sparse { "format f { A: csr  x: sparse_vector }" } else { "" };
        let text = format!(
            "def f(double(N,M) A, double(N,N) B, double(N) x, int(N) p, float(N) h, half(N) b,
                   bool(N) m, complex64(N) z, byte(N) u, double a, int s) -> (y) {{
               t(i) = x(i)
               y(i) = t(i)
               {}
             }} {format}",
            stmts.concat()
        );
        let file = crate::syntax::parse(FileId(0), &text).expect("the grammar is kept to");
        if let Ok(resolved) = resolve(&[file], &Options::default()) {
            for function in &resolved.program.functions {
                prop_assert_eq!(verify(function), Ok(()), "{}\n{}", text, function);
            }
        }
    }
}

/// Large right sides are resolved or refused quickly.
#[test]
fn large_programs_end() {
    let sum = vec!["A(i,j)*x(j)"; 190].join(" + ");
    let product = vec!["(A(i,j) + x(i))"; 60].join(" * ");
    let names: Vec<String> = (0..8).map(|n| format!("(A(i,j{n}) + x(i))")).collect();
    let bound = vec!["(M + N + K)"; 60].join(" * ");
    let programs = [
        format!("y(i) = {sum}"),
        format!("y(i) = {product}"),
        format!("y(i) = {}", names.join(" * ")),
        format!(
            "y(i) = {}",
            vec!["-exp("; 190].join("") + "x(i)" + &")".repeat(190)
        ),
        format!("y(i) = x(i) where i in 0:{bound}"),
    ];
    let start = std::time::Instant::now();
    for stmt in programs {
        let text = format!("def f(double(M,N) A, double(M) x, double(K) z) -> (y) {{ {stmt} }}");
        let file = crate::syntax::parse(FileId(0), &text).expect("the grammar is kept to");
        drop(resolve(&[file], &Options::default()));
    }
    assert!(start.elapsed().as_secs() < 20);
}
