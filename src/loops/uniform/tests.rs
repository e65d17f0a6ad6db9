//! What is said to be the same for units against running the statements for all of them: in
//! all programs of a few loops and tests over a few values, nothing differs that is said to be
//! the same.

use super::Uniform;
use super::lockstep::{COUNT, ITERATION, Lockstep, Tally};
use crate::loops::ir::{ArrayId, VarId};
use crate::loops::text;
use std::collections::BTreeSet;

/// `k` is the iteration of a loop around all; `a` is an input, each thread has its own `w`.
const HEADER: &str = "\
kernel k
  var k, m, c, v0, v1, v2, v3, v4: int64 mut
  array a: int64 input
  array w, u: int64 local
body
";
const K: VarId = VarId(0);
const OWN: ArrayId = ArrayId(1);

/// Runs the program for all units, once for each iteration around it together and once
/// for one alone.
fn check(body: &str, tally: &mut Tally) {
    let indented: String = body.lines().map(|line| format!("  {line}\n")).collect();
    let kernel = text::read(&(HEADER.to_string() + &indented));
    let kernel = kernel.unwrap_or_else(|e| panic!("{e}\n{body}"));
    let own = BTreeSet::from([OWN]);
    let iteration = |unit: usize| unit & ITERATION != 0;
    for several in [true, false] {
        let uniform = match several {
            true => Uniform::with(&kernel.body, K),
            false => Uniform::of(&own, &kernel.body),
        };
        let mut run = Lockstep::new(&kernel, &uniform, tally);
        run.set(K, if several { ITERATION } else { 0 });
        if !several {
            run.own(OWN);
        }
        let active: [bool; COUNT] = std::array::from_fn(|unit| several || !iteration(unit));
        run.run(&active);
        if let Some(wrong) = run.wrong {
            panic!("{wrong}, but does with others:\n{body}");
        }
    }
}

const UNITS: [&str; 4] = ["block.x", "warp.x", "thread.x", "thread.y"];

/// The loops and tests that may stand around a statement, `v` being the variable of a loop
/// and `known` what decides.
fn frames(v: &str, known: &[&str]) -> Vec<String> {
    let mut heads = vec![format!("for {v} in 0..2"), "while m < 2".to_string()];
    for unit in UNITS {
        heads.push(format!("for {v} in 0..3 {unit}"));
        heads.push(format!("for {v} in 0..3 {unit} reduce(+ m)"));
    }
    for value in known {
        heads.push(format!("for {v} in 0..{value}"));
        heads.push(format!("for {v} in {value}..3"));
        heads.push(format!("if 0 < {value}"));
    }
    heads
}

/// Lines of text inside of others.
fn inside(head: &str, lines: &str) -> String {
    let more = if head.starts_with("while") {
        "m += 1\n"
    } else {
        ""
    };
    let inner = lines.lines().chain(more.lines());
    let inner: String = inner.map(|line| format!("  {line}\n")).collect();
    format!("{head}\n{inner}")
}

/// What the outermost frame, or the program, declares.
const DECLARED: &str = "let c = 0\ndeclare u[2]\n";

/// Calls `f` with all programs of three frames inside of each other, or two beside each other
/// in a third.
fn programs(f: &mut impl FnMut(&str)) {
    let mut outer_frames = |lines: &str| {
        for outer in frames("v1", &["k"]) {
            f(&format!(
                "let m = 0\n{}",
                inside(&outer, &format!("{DECLARED}{lines}"))
            ));
            f(&format!("let m = 0\n{DECLARED}{}", inside(&outer, lines)));
        }
    };
    for middle in frames("v2", &["v1", "c"]) {
        for inner in frames("v3", &["v2", "m", "c"]) {
            for action in [
                "m = 1",
                "m += v3",
                "c = v2",
                "m = c",
                "u[1] += v3\nc = u[1]",
                "w[0] = v3\nsearch v4 in w[0..3] for 1\nc = v4",
            ] {
                outer_frames(&inside(&middle, &inside(&inner, action)));
            }
            // No loop of these is around both.
            let inner = inner.replace("v2", "v1");
            for (first, second) in [("m += v2", "c = m"), ("c = v2", "m = 1")] {
                outer_frames(&(inside(&middle, first) + &inside(&inner, second)));
            }
        }
    }
}

#[test]
fn nothing_differs_that_is_the_same() {
    let mut tally = Tally::default();
    programs(&mut |program| check(program, &mut tally));
    tally.report(0.5);
}

/// What a digit is: the number of a block, of a warp, of a thread of it (or of the block),
/// of a row of threads, of a serial iteration, or of one of a loop around all.
const KINDS: [&str; 6] = ["block.x", "warp.x", "thread.x", "thread.y", "", "k"];

/// The digits of all arrays of up to three, with extents up to 4, all assignments of them to
/// units and iterations.
#[test]
fn digits_vary_with_their_units() {
    let mut tally = Tally::default();
    for n in 1..=3u32 {
        for shape in 0..4usize.pow(n) {
            for code in 0..KINDS.len().pow(n) {
                let digits = (0..n).map(|d| {
                    let kind = code / KINDS.len().pow(d) % KINDS.len();
                    (kind, 1 + shape / 4usize.pow(d) % 4)
                });
                check(&subscript(&digits.collect::<Vec<_>>()), &mut tally);
            }
        }
    }
    tally.report(0.25);
}

/// A value of these digits, each a kind and an extent, inside of the loops.
fn subscript(digits: &[(usize, usize)]) -> String {
    let name = |kind: usize| match KINDS[kind] {
        "k" => "k".to_string(),
        _ => format!("v{kind}"),
    };
    let value = digits
        .iter()
        .fold("0".to_string(), |value, (kind, extent)| {
            format!("locate({value}, {extent}, {})", name(*kind))
        });
    let mut text = format!("let c = {value}\n");
    for (kind, unit) in KINDS.iter().enumerate().rev() {
        let own = digits.iter().filter(|(k, _)| *k == kind);
        let extent = own.map(|(_, extent)| extent).min();
        if let Some(extent) = extent.filter(|_| *unit != "k") {
            text = inside(&format!("for v{kind} in 0..{extent} {unit}"), &text);
        }
    }
    text
}
