//! Sums that are placed against the expansion by the book.

use proptest::prelude::*;

use super::*;
use crate::diagnostic::FileId;
use crate::program::draft::zero;
use crate::program::ir::{Access, TensorId};

const SPAN: Span = Span {
    file: FileId(0),
    start: 0,
    end: 0,
};

/// Variable 0 stands on the left; the others run over these many values.
const EXTENTS: [usize; 4] = [1, 2, 3, 2];

fn leaf(tensor: u32, vars: &[u32]) -> Expr {
    let index = |v: &u32| Expr {
        kind: ExprKind::Index(VarId(*v)),
        ..zero(SPAN)
    };
    Expr {
        kind: ExprKind::Access(Access {
            tensor: TensorId(tensor),
            subscripts: vars.iter().map(index).collect(),
        }),
        ..zero(SPAN)
    }
}

fn any_expr() -> impl Strategy<Value = Expr> {
    let vars = prop::sample::subsequence(vec![0u32, 1, 2, 3], 0..3);
    let leaf = (0u32..9, vars).prop_map(|(tensor, vars)| leaf(tensor, &vars));
    leaf.prop_recursive(4, 12, 2, |inner| {
        let op = prop::sample::select(vec![
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Mul,
            BinaryOp::Div,
        ]);
        prop_oneof![
            5 => (op, inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| binary(op, a, b, SPAN)),
            1 => inner.prop_map(|a| negation(a, SPAN)),
        ]
    })
}

/// Some value that depends on the tensor and the coordinates, never zero.
fn element(tensor: u32, coordinates: &[usize]) -> f64 {
    let mut hash = tensor as usize * 31 + 7;
    for c in coordinates {
        hash = hash * 17 + c * 5 + 3;
    }
    1.0 + (hash % 13) as f64 / 8.0
}

fn evaluate(e: &Expr, point: &mut [usize; 4]) -> f64 {
    if let ExprKind::Reduce { vars, body, .. } = &e.kind {
        return sum(vars, point, &mut |point| evaluate(body, point));
    }
    if let ExprKind::Access(access) = &e.kind {
        let vars = access.subscripts.iter().filter_map(Expr::as_var);
        let coordinates: Vec<usize> = vars.map(|v| point[v.index()]).collect();
        return element(access.tensor.0, &coordinates);
    }
    match shape(e) {
        Shape::Negation(a) => -evaluate(a, point),
        Shape::Sum(BinaryOp::Add, a, b) => evaluate(a, point) + evaluate(b, point),
        Shape::Sum(_, a, b) => evaluate(a, point) - evaluate(b, point),
        Shape::Product(a, b) => evaluate(a, point) * evaluate(b, point),
        Shape::Quotient(a, b) => evaluate(a, point) / evaluate(b, point),
        Shape::Factor => panic!("no other factors are made"),
    }
}

fn sum(
    vars: &[VarId],
    point: &mut [usize; 4],
    body: &mut impl FnMut(&mut [usize; 4]) -> f64,
) -> f64 {
    let Some((first, rest)) = vars.split_first() else {
        return body(point);
    };
    let mut total = 0.0;
    for value in 0..EXTENTS[first.index()] {
        point[first.index()] = value;
        total += sum(rest, point, body);
    }
    total
}

/// The expansion into products, by the book.
fn expand(e: &Expr) -> Vec<Expr> {
    match shape(e) {
        Shape::Negation(a) => expand(a).into_iter().map(|t| negation(t, SPAN)).collect(),
        Shape::Sum(op, a, b) => {
            let right = expand(b).into_iter();
            let signed = right.map(|t| {
                if op == BinaryOp::Add {
                    t
                } else {
                    negation(t, SPAN)
                }
            });
            expand(a).into_iter().chain(signed).collect()
        }
        Shape::Product(a, b) => {
            let right = expand(b);
            let pairs = expand(a).into_iter().flat_map(|x| {
                let product = move |y: &Expr| binary(BinaryOp::Mul, x.clone(), y.clone(), SPAN);
                right.iter().map(product).collect::<Vec<_>>()
            });
            pairs.collect()
        }
        Shape::Quotient(a, b) => expand(a)
            .into_iter()
            .map(|x| binary(BinaryOp::Div, x, b.clone(), SPAN))
            .collect(),
        Shape::Factor => vec![e.clone()],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn placed_sums_are_the_sums_of_the_expansion(e in any_expr()) {
        let order: Vec<VarId> = (0..4).map(VarId).collect();
        let uses = BTreeMap::new();
        let sums = Sums {
            left: BTreeSet::from([VarId(0)]),
            order: &order,
            uses: &uses,
            steps: Cell::new(0),
            nested: Cell::new(None),
        };
        let placed = sums.place(&e);
        let placed = placed.expect("small enough");
        let mut point = [0; 4];
        let got = evaluate(&placed, &mut point);
        let (mut want, mut scale) = (0.0, 0.0);
        for term in expand(&e) {
            let vars: Vec<VarId> = sums.vars(&term).into_iter().collect();
            want += sum(&vars, &mut [0; 4], &mut |point| evaluate(&term, point));
            // The summands of one term can cancel too: a divisor may change sign.
            scale += sum(&vars, &mut [0; 4], &mut |point| evaluate(&term, point).abs());
        }
        // A divisor may be zero.
        prop_assume!(scale.is_finite());
        prop_assert!((got - want).abs() <= 1e-9 * scale, "{got} {want}");
    }
}
