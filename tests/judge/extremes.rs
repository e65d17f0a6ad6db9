//! Minima and maxima into elements of another type.

use crate::support::{judged, matrix, typed};
use sparsec::data::values::Number;
use sparsec::scalar::ScalarType;

/// All types that have an order.
const ORDERED: [ScalarType; 13] = [
    ScalarType::Bool,
    ScalarType::I8,
    ScalarType::I16,
    ScalarType::I32,
    ScalarType::I64,
    ScalarType::U8,
    ScalarType::U16,
    ScalarType::U32,
    ScalarType::U64,
    ScalarType::F16,
    ScalarType::BF16,
    ScalarType::F32,
    ScalarType::F64,
];

/// The least and the largest value.
fn ends(ty: ScalarType) -> (f64, f64) {
    let signed = |bits: i32| (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1) - 1.0);
    let unsigned = |bits: i32| (0.0, 2f64.powi(bits) - 1.0);
    match ty {
        ScalarType::Bool => (0.0, 1.0),
        ScalarType::I8 => signed(8),
        ScalarType::I16 => signed(16),
        ScalarType::I32 => signed(32),
        ScalarType::I64 => signed(64),
        ScalarType::U8 => unsigned(8),
        ScalarType::U16 => unsigned(16),
        ScalarType::U32 => unsigned(32),
        ScalarType::U64 => unsigned(64),
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64 => {
            (f64::NEG_INFINITY, f64::INFINITY)
        }
        ScalarType::C64 | ScalarType::C128 => panic!("has no order"),
    }
}

/// What `y` holds after `y op x(i)`, having held `held`.
fn reduced(left: ScalarType, held: Number, op: &str, right: ScalarType, x: &[Number]) -> f64 {
    let program = format!(
        "def f({right}(N) x, {left}(M) y) -> (y) {{ y(j) {op} x(i) where j in 0:1, i in 0:N }}"
    );
    let inputs = [("x", typed(right, x)), ("y", typed(left, &[held]))];
    judged(&program, &inputs)[0]
}

#[test]
fn nothing_leaves_what_is_there() {
    for left in ORDERED {
        let (least, most) = ends(left);
        let held: Vec<i128> = [-100, 0, 1, 100]
            .into_iter()
            .filter(|&n| (least..=most).contains(&(n as f64)))
            .collect();
        for right in ORDERED {
            for op in ["min=", "max="] {
                for &held in &held {
                    let y = reduced(left, Number::Int(held), op, right, &[]);
                    assert_eq!(y, held as f64, "{left} {op} {right}");
                }
            }
            let zero = Number::Int(0);
            assert_eq!(
                reduced(left, zero, "min=!", right, &[]),
                most,
                "{left} {right}"
            );
            assert_eq!(
                reduced(left, zero, "max=!", right, &[]),
                least,
                "{left} {right}"
            );
        }
    }
}

#[test]
fn whole_numbers_are_converted_before_they_are_compared() {
    use ScalarType as S;
    let after = |left, held: i128, op, right, x: &[i128]| {
        let x: Vec<Number> = x.iter().map(|&n| Number::Int(n)).collect();
        reduced(left, Number::Int(held), op, right, &x)
    };
    assert_eq!(after(S::I8, 100, "min=", S::I64, &[70, 50]), 50.0);
    // 300 wraps to 44.
    assert_eq!(after(S::I8, 100, "min=", S::I64, &[300, 50]), 44.0);
    assert_eq!(after(S::I8, -100, "max=", S::U16, &[3, 200]), 3.0);
    assert_eq!(after(S::U8, 7, "max=", S::I32, &[3, -1]), 255.0);
    assert_eq!(after(S::I32, -7, "max=", S::U32, &[4_294_967_290, 0]), 0.0);
    // A truth is anything but zero.
    assert_eq!(after(S::Bool, 0, "max=", S::I32, &[0, -1]), 1.0);
    assert_eq!(after(S::Bool, 1, "min=", S::I32, &[5, -1]), 1.0);
    assert_eq!(after(S::Bool, 1, "min=", S::I32, &[5, 0, -1]), 0.0);
}

#[test]
fn floats_are_compared_before_they_are_converted() {
    use ScalarType as S;
    let after = |left, held: i128, op, right, x: &[f64]| {
        let x: Vec<Number> = x.iter().map(|&n| Number::Real(n)).collect();
        reduced(left, Number::Int(held), op, right, &x)
    };
    let inf = f64::INFINITY;
    assert_eq!(after(S::I32, 5, "min=", S::F64, &[3.7, 4.2]), 3.0);
    assert_eq!(after(S::I32, 3, "min=", S::F64, &[3.7]), 3.0);
    assert_eq!(after(S::I32, -3, "min=", S::F64, &[-3.7]), -3.0);
    // What is larger than all numbers of the type is no minimum.
    for left in [S::I8, S::U8, S::I16, S::U16, S::I32, S::U32, S::I64, S::U64] {
        for right in [S::F32, S::F64] {
            for large in [2f64.powi(64), 1e30, inf, f64::NAN] {
                assert_eq!(
                    after(left, 5, "min=", right, &[large]),
                    5.0,
                    "{left} {large}"
                );
                assert_eq!(
                    after(left, 5, "min=", right, &[large, 3.5]),
                    3.0,
                    "{left} {large}"
                );
                assert_eq!(
                    after(left, 5, "max=", right, &[-large]),
                    5.0,
                    "{left} -{large}"
                );
                assert_eq!(after(left, 5, "max=", right, &[-large, 7.5]), 7.0, "{left}");
                assert_eq!(
                    after(left, 5, "min=!", right, &[large]),
                    ends(left).1,
                    "{left}"
                );
                assert_eq!(
                    after(left, 5, "max=!", right, &[-large]),
                    ends(left).0,
                    "{left}"
                );
            }
        }
    }
}

#[test]
fn absent_infinities_are_no_minima() {
    let program = "def f(double(M,N) D, int(M) y) -> (y) { y(i) min= D(i,j) }
                   format f { D: csr fill inf }";
    let held: Vec<Number> = [9, 9, 9].map(Number::Int).to_vec();
    let inputs = [
        ("D", matrix([3, 2], &[(0, 1, 4.5), (2, 0, 70.0)])),
        ("y", typed(ScalarType::I32, &held)),
    ];
    assert_eq!(judged(program, &inputs), [4.0, 9.0, 9.0]);
}
