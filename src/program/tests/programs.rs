//! Programs that are accepted, as `show --stage program` prints them.

use super::{outcome_with, program};
use crate::program::Options;

/// Every statement's sums, ranges and conversions are in the printed form.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "spmv",
        "def spmv(double(M,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) }
         format spmv { A: csr }",
    ),
    (
        "sgemm",
        "def sgemm(float a, float b, float(N,M) A, float(M,K) B) -> (C) {
           C(i,j) = b * C(i,j)
           C(i,j) += a * A(i,k) * B(k,j)
         }",
    ),
    (
        "mv_in_two_statements",
        "def mv(float(M,K) A, float(K) x) -> (C) {
           C(i) = 0
           C(i) += A(i,k) * x(k)
         }",
    ),
    (
        "sddmm",
        "def sddmm(double(M,N) S, double(M,K) A, double(K,N) B) -> (C) {
           C(i,j) = S(i,j) * A(i,k) * B(k,j)
         }
         format sddmm { S: csr  C: csr }",
    ),
    (
        "mttkrp",
        "def mttkrp(double(I,K,L) B, double(K,J) C, double(L,J) D) -> (A) {
           A(i,j) = B(i,k,l) * C(k,j) * D(l,j)
         }
         format mttkrp { B: csf }",
    ),
    (
        "conv1d",
        "def conv1d(float(M) I, float(N) K) -> (O) { O(i) = K(x) * I(i + x) }",
    ),
    (
        "conv2d",
        "def conv2d(float(B,IP,H,W) in, float(OP,IP,KH,KW) weight) -> (out) {
           out(b,op,h,w) +=! in(b,ip,h+kh,w+kw) * weight(op,ip,kh,kw)
         }",
    ),
    (
        "strided_conv2d",
        "def sconv2d(int sh, int sw, float(N,C,H,W) I, float(F,C,KH,KW) W, float(F) B) -> (O) {
           O(n,f,h,w) = B(f)
           O(n,f,h,w) += I(n,c,sh*h+kh,sw*w+kw) * W(f,c,kh,kw)
         }",
    ),
    (
        "maxpool",
        "def maxpool2x2(float(B,C,H,W) in) -> (out) {
           out(b,c,i,j) max=! in(b,c,2*i+kw,2*j+kh) where kw in 0:2, kh in 0:2
         }",
    ),
    (
        "gather",
        "def gather(float(N) X, int(A,B) I) -> (Z) { Z(i,j) = X(I(i,j)) }",
    ),
    (
        "tables",
        "def lut2(float(E1,D) LUT1, int(B,L1) I1, float(E2,D) LUT2, int(B,L2) I2) -> (O1,O2) {
           O1(i,j) +=! LUT1(I1(i,k),j)
           O2(i,j) +=! LUT2(I2(i,k),j)
         }",
    ),
    (
        "mlp1",
        "def MLP1(float(B,M) I, float(O,M) W1, float(O) B1) -> (O1) {
           O1(b,n) = B1(n)
           O1(b,n) += I(b,m) * W1(n,m)
           O1(b,n) = fmaxf(O1(b,n), 0)
         }",
    ),
    (
        "dynamic_counted_loop",
        "def spmv_csr(int(R) pos, int(Z) crd, double(Z) val, double(N) x) -> (y) {
           y(i) +=! val(p) * x(crd(p)) where i in 0:R-1, p in pos(i):pos(i+1)
         }",
    ),
    (
        "dynamic_term_beside_a_plain_one",
        "def f(int(R) pos, double(Z) val, double(M) z) -> (y) {
           y(i) = val(p) + z(i) where i in 0:R-1, p in pos(k):pos(k+1), k in 0:R-1
         }",
    ),
    (
        "triangular_loop",
        "def f(double(N,N) A, double(N) x) -> (y) { y(i) +=! A(i,j) * x(j) where j in 0:i+1 }",
    ),
    (
        "sum_of_terms",
        "def f(double(M,N) A, double(N) x, double(M) z, double(M) w) -> (y) {
           y(i) = A(i,j)*x(j) + z(i) + w(i)
         }",
    ),
    (
        "factor_outside_a_mixed_sum",
        "def f(double(M,N) A, double(N) x, double(M) z) -> (y) { y(i) = 2*(A(i,j)*x(j) + z(i)) }",
    ),
    (
        "sum_as_a_factor",
        "def f(double(M,N) A, double(M,N) B, double(N) x) -> (y) { y(i) = (A(i,j)+B(i,j))*x(j) }",
    ),
    (
        "mixed_factor_is_expanded",
        "def f(double(M,N) A, double(M) z, double(M,K) x) -> (y) {
           y(i) = (A(i,j) - z(i)) * x(i,k) / 2
         }",
    ),
    (
        "nested_products_are_regrouped",
        "def f(double(M,N) A, double(M) z, double(M,K) x) -> (y) {
           y(i) = 3 * -(z(i) + A(i,j)) / z(i) * x(i,k)
         }",
    ),
    (
        "functions_are_factors",
        "def f(double(M,N) A, double(N) x, double(M) z) -> (y) {
           y(i) = exp(A(i,j)*x(j)) + z(i) / (1 + A(i,k))
         }",
    ),
    (
        "whole_right_side_is_reduced",
        "def f(double(M,N) A, double(N) x, double(M) z) -> (y) { y(i) += A(i,j)*x(j) + z(i) }",
    ),
    (
        "weak_literals",
        "def f(float(N) a, int(N) b, int8(N) c) -> (x, y, z, w) {
           x(i) = 0.5 * a(i) + 1
           y(i) = 0.5 * b(i)
           z(i) = 2 * c(i)
           w = 3
         }",
    ),
    (
        "promotion",
        "def f(int8(N) a, uint8(N) b, int(N) c, float(N) d, double(N) e, complex64(N) z, bool(N) m)
           -> (r1, r2, r3, r4, r5, r6, r7) {
           r1(i) = a(i) + b(i)
           r2(i) = a(i) * c(i)
           r3(i) = c(i) * d(i)
           r4(i) = z(i) + d(i)
           r5(i) = z(i) * e(i)
           r6(i) = m(i) + m(i)
           r7(i) = m(i) && c(i) < d(i)
         }",
    ),
    (
        "half_stays_half",
        "def f(half(N) a, half(N) b, float(N) c) -> (x, y, z) {
           x(i) = a(i) * b(i) + 1
           y(i) = a(i) * c(i)
           z(i) = half(c(i))
         }",
    ),
    (
        "sums_are_accumulated_in_the_result_type",
        "def f(float(M,N) A, double(M) y) -> (y) { y(i) += A(i,j) - A(i,k) }",
    ),
    (
        "functions_and_their_types",
        "def f(int(N) a, float(N) b, complex128(N) z) -> (r1, r2, r3, r4, r5, r6) {
           r1(i) = sqrt(a(i))
           r2(i) = expf(b(i))
           r3(i) = abs(z(i))
           r4(i) = max(a(i), 3, b(i))
           r5(i) = floor(a(i)) % 4
           r6(i) = int(2.5 * b(i))
         }",
    ),
    (
        "indices_and_extents_as_values",
        "def f(double(M,N) A) -> (y, z) {
           y(i,j) = A(i,j) * (i == j ? 1 : 0)
           z(i) = A(i,j) / A.1 + M
         }",
    ),
    (
        "size_and_tensor_of_one_name",
        "def f(float(H,W) I, float(W) W) -> (O) { O(h) = I(h,w) * W(w) / W }",
    ),
    (
        "two_names_of_one_size",
        "def f(double(M) A, double(N) B) -> (C) { C(i) = A(i) * B(i) }",
    ),
    (
        "outer_sum_shapes_by_dimension",
        "def f(double(M) a, double(N) b) -> (O) {
           O(i,j) = a(i)
           O(i,j) += b(j)
         }",
    ),
    (
        "temporaries",
        "def f(double(M,N) A, double(N) x) -> (y) {
           t(i) = A(i,j) * x(j)
           n +=! t(i) * t(i)
           y(i) = t(i) / sqrt(n)
         }",
    ),
    (
        "reversed_and_shifted",
        "def f(double(N) x) -> (y, z) {
           y(i) = x(N - 1 - i)
           z(i) = x(i + 1) - x(i - 1) where i in 1:N-1
         }",
    ),
    (
        "partly_written_results_are_inout",
        "def f(double(N) x) -> (y) {
           y(i) = 0 where i in 0:1
           y(i) = x(i - 1) where i in 1:N
         }",
    ),
    (
        "declared_inout",
        "def f(double(N) x, double(N) y) -> (y) { y(i) = 2 * x(i) }",
    ),
    (
        "call_inlined",
        "def scale(double a, double(K) x) -> (y) { y(i) = a * x(i) }
         def dot(double(K) a, double(K) b) -> (s) {
           t(i) = a(i) * b(i)
           s +=! t(i)
         }
         def main(double(N) x, double(N) t) -> (s) {
           s0 = 3 * x.0
           u = scale(2, x)
           v = scale(s0, u)
           (s) = dot(v, t)
         }",
    ),
    (
        "call_with_a_constant_stride",
        "def pool(int s, float(H) in) -> (out) { out(i) max=! in(s*i + k) where k in 0:s }
         def main(float(L) x) -> (y) { y = pool(2, x) }",
    ),
    (
        "call_with_inout",
        "def acc(double(N) a, double(N) y) -> (y) { y(i) += a(i) }
         def main(double(N) a, double(N) b) -> (z) { z = acc(a, b) }",
    ),
    (
        "formats",
        "def f(double(M,N) A, double(M,N) B, double(M,N) C, double(M,N,K) T, double(N) v,
               int(M,N) D) -> (y) {
           y(i) = A(i,j) * B(i,j) * C(i,j) * v(j) * T(i,j,k) * min(D(i,j), 7)
         }
         format mine = (i,j) -> (j: compressed(nonunique), i: singleton) index 64
         format f {
           A: csc
           B: {dense, compressed} order (1,0) index 64
           C: mine
           T: coo3
           v: sparse_vector
           D: dcsr fill 7
         }",
    ),
    (
        "sparse_results",
        "def f(double(M,N) A, double(M,N) B) -> (S, P, E, Q) {
           S(i,j) = A(i,j) + B(i,j)
           P(i,j) = 2 * A(i,j) * B(i,j) / 3
           E(i,j) = exp(A(i,j)) - 1
           Q(i,j) = exp(A(i,j))
         }
         format f { A: csr  B: csr  S: csr  P: dcsr  E: csr  Q: csr fill 1 }",
    ),
    (
        "requirements_on_sizes",
        "def f(double(M) a, double(N) b, double(P) c, double(Q) d) -> (y, z) {
           y(i) = a(i) * b(j) * c(i + j)
           z(i) = d(i) where i in 0:P
         }",
    ),
    (
        "taco_functions",
        "def f(double(N) x, int(N) p) -> (y, z) {
           y(i) = square(x(i)) * cube(x(i) + 1)
           z(i) = square(p(i)) * gt(p(i), 3)
         }",
    ),
    (
        "reachability",
        "def f(double(M,N) A, bool(N) x) -> (y) { y(i) ||=! A(i,j) && x(j) }",
    ),
    (
        "min_plus",
        "def f(float(N,N) D, float(N) x) -> (y) { y(i) min=! D(i,j) + x(j) }
         format f { D: csr fill inf  x: sparse_vector fill inf  y: sparse_vector fill inf }",
    ),
    (
        "extremes_of_other_types",
        "def f(double(N) x, float(N) w, long(N) n, int8 a, int8 b, uint64 c, bool d, float e, int(N) g)
           -> (a, b, c, d, e, g) {
           a min= x(i)
           b max= n(i)
           c min=! w(i)
           d max= x(i)
           e min= x(i)
           g(i) max= w(i)
         }",
    ),
];

#[test]
fn accepted_programs() {
    for (name, text) in PROGRAMS {
        insta::assert_snapshot!(*name, program(text));
    }
}

#[test]
fn options_choose_and_fix() {
    let text = "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
                def g(double(K) x) -> (y) { y(i) = x(i) }
                format f { A: csr }";
    let options = Options {
        def: Some("f".to_owned()),
        sizes: vec![("M".to_owned(), 1000)],
        index_bits: Some(64),
    };
    let Ok(printed) = outcome_with(text, &options) else {
        panic!("refused");
    };
    insta::assert_snapshot!(printed);
}
