//! Formats and their uses.

/// As [`super::REFUSALS`].
pub(super) const REFUSALS: &[(&str, &str)] = &[
    (
        "E0301",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: csrr }",
    ),
    (
        "E0302",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { B: csr }",
    ),
    (
        "E0303_builtin",
        "def f(double(N) x) -> (y) { y(i) = x(i) } format f { x: csr }",
    ),
    (
        "E0303_levels",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: {compressed} }",
    ),
    (
        "E0303_coo3",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: coo3 }",
    ),
    (
        "E0304_twice",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format f { A: {dense, compressed} order (1,1) }",
    ),
    (
        "E0304_few",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: csr order (1) }",
    ),
    (
        "E0305_level",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format f { A: {dense, compresed} }",
    ),
    (
        "E0305_property",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format f { A: {compressed(nonuniqe), singleton} }",
    ),
    (
        "E0305_dense",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format f { A: {dense(nonunique), singleton} }",
    ),
    (
        "E0305_bitmap",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format f { A: {bitmap(nonunique), singleton} }",
    ),
    (
        "E0306",
        "def f(double a, double(N) x) -> (y) { y(i) = a * x(i) } format f { a: dense }",
    ),
    (
        "E0307_bcsr",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: bcsr(2,2) }",
    ),
    (
        "E0307_hashed",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: {dense, hashed} }",
    ),
    (
        "E0307_unordered",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format f { A: {dense, compressed(unordered)} }",
    ),
    (
        "E0307_expression",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format b = (i,j) -> (i/4: dense, j: compressed, i%4: dense)
        format f { A: b }",
    ),
    (
        "E0307_slot",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format b = (i,j) -> (slot: dense, i: dense, j: singleton)
        format f { A: b }",
    ),
    (
        "E0308_unique",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format f { A: {dense, singleton} }",
    ),
    (
        "E0308_root",
        "def f(double(N) x) -> (y) { y(i) = x(i) } format f { x: {singleton} }",
    ),
    (
        "E0309_int",
        "def f(int(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: csr fill 0.5 }",
    ),
    (
        "E0309_byte",
        "def f(byte(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: csr fill -1 }",
    ),
    (
        "E0310",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: csr index 16 }",
    ),
    (
        "E0311_exp",
        "def f(double(M,N) A) -> (B) { B(i,j) = exp(A(i,j)) }
        format f { A: csr  B: csr }",
    ),
    (
        "E0311_bool",
        "def f(double(M,N) A) -> (B) { B(i,j) = A(i,j) == 0 }
        format f { A: csr  B: csr }",
    ),
    (
        "E0311_add",
        "def f(double(M,N) A) -> (B) { B(i,j) = A(i,j) + 3 }
        format f { A: csr  B: csr fill 1 }",
    ),
    (
        "E0311_min",
        "def f(double(M,N) A) -> (b) { b(i) min=! A(i,j) }
        format f { A: csr fill inf  b: sparse_vector }",
    ),
    (
        "E0312_entry",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: csr A: csc }",
    ),
    (
        "E0312_format",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format b = (i,j) -> (i: dense, j: compressed)
        format b = (i,j) -> (j: dense, i: compressed)",
    ),
    (
        "E0313_twice",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format b = (i,j) -> (i: dense, i: compressed)
        format f { A: b }",
    ),
    (
        "E0313_missing",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) }
        format b = (i,j) -> (i: dense)
        format f { A: b }",
    ),
    (
        "E0314",
        "def f(double(M,N) A) -> (y) { y(i) = A(i,j) } format f { A: csr(2,2) }",
    ),
];
