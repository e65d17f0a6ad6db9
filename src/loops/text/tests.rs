//! What the text says and what reading refuses; whole programs are read in `tests/loops.rs`.

use super::{print, read};

const KERNEL: &str = "\
kernel k
  var N, i.1, i.2: int64
  var s: float mut
  array in.0: int32 input
  array w: double local
  size N
body
  let s = 1.5:float
  # a remark
  for i.1 in 0..N - (1 - N) by 2 parallel dynamic(8) unroll(4) reduce(max s)
    if i.1 < 3 && !(N == -2 || N // 3 * 4 % N > 1)
      s max= float(in.0[i.1])
    else
      search i.2 in in.0[0..N] for -i.1
      atomic w[select(N > 1, i.2, -(1))] += (w[0] * 2.0) * fmin(0:double, inf)
";

#[test]
fn text_reads_back() {
    let kernel = read(KERNEL).unwrap();
    let text = KERNEL.replace("(w[0] * 2.0) *", "w[0] * 2.0 *");
    assert_eq!(print(&kernel), text);
    assert_eq!(crate::loops::verify::verify(&kernel), Vec::<String>::new());
}

#[test]
fn errors_say_where() {
    let of = |body: &str| {
        let text = format!("kernel k\n  size N\n  array a: int32 local\nbody\n{body}");
        read(&text).unwrap_err().to_string()
    };
    assert_eq!(of("  let i = 0"), "line 5: no variable `i` is declared");
    assert_eq!(of("\n  b[0] = 1"), "line 6: no array `b` is declared");
    assert_eq!(of("  a[0] = 1 2"), "line 5: `2` is too much");
    assert_eq!(of("  a[0] = "), "line 5: a name is expected");
    assert_eq!(of("  a[0 = 1"), "line 5: `]` is expected, not `=`");
    assert_eq!(of("  a[0] = ?"), "line 5: `?` begins nothing");
    assert_eq!(of("  a[0] = f(N)"), "line 5: no function `f` is known");
    assert_eq!(
        of("  if N > 0\n    a[0] = 1\n      a[0] = 2"),
        "line 7: the line is not in line with its neighbours"
    );
    assert_eq!(of("  for N in 0..1 warp.w"), "line 5: `warp.w` is too much");
    assert_eq!(of("  assume N > 0, \"x"), "line 5: a text does not end");
}
