//! The table of expressions and formats: every expression that libraries of sparse algebra have,
//! with its operands and its result in every format. None is refused, and what the kernels compute
//! is what the judge says: by one loop after another, counted before it is stored, shared out to 1,
//! 2 and 7 threads under the race checker, and on the emulated GPU.
//!
//! `SPARSEC_TABLE` says how many rows (150), `all` runs the whole table; `SPARSEC_TABLE_SEED` takes
//! another sample.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use support::{Case, compile, parse, poison, run_with, words};

/// A tensor of an expression: its name and its dimensions.
struct Role {
    name: &'static str,
    dims: &'static str,
}

/// `statements` with the tensors `roles`, of which the last one is the result. Where one tensor
/// stands twice, its dimensions are one.
struct Expression {
    name: &'static str,
    statements: &'static str,
    roles: &'static [Role],
}

const fn r(name: &'static str, dims: &'static str) -> Role {
    Role { name, dims }
}

#[rustfmt::skip]
const EXPRESSIONS: &[Expression] = &[
    Expression { name: "spmm", statements: "C(i,j) +=! A(i,k) * B(k,j)",
        roles: &[r("A", "MK"), r("B", "KN"), r("C", "MN")] },
    Expression { name: "sddmm", statements: "C(i,j) +=! S(i,j) * A(i,k) * B(j,k)",
        roles: &[r("S", "MN"), r("A", "MK"), r("B", "NK"), r("C", "MN")] },
    Expression { name: "add", statements: "C(i,j) = A(i,j) + B(i,j)",
        roles: &[r("A", "MN"), r("B", "MN"), r("C", "MN")] },
    Expression { name: "multiply", statements: "C(i,j) = A(i,j) * B(i,j)",
        roles: &[r("A", "MN"), r("B", "MN"), r("C", "MN")] },
    Expression { name: "three_way_add", statements: "C(i,j) = A(i,j) + B(i,j) + D(i,j)",
        roles: &[r("A", "MN"), r("B", "MN"), r("D", "MN"), r("C", "MN")] },
    Expression { name: "symmetric_add", statements: "C(i,j) = A(i,j) + A(j,i)",
        roles: &[r("A", "NN"), r("C", "NN")] },
    Expression { name: "add_transpose", statements: "C(i,j) = A(i,j) + B(j,i)",
        roles: &[r("A", "MN"), r("B", "NM"), r("C", "MN")] },
    Expression { name: "gram", statements: "C(i,j) +=! A(i,k) * A(j,k)",
        roles: &[r("A", "MK"), r("C", "MM")] },
    Expression { name: "gram_transpose", statements: "C(i,j) +=! A(k,i) * A(k,j)",
        roles: &[r("A", "KM"), r("C", "MM")] },
    Expression { name: "masked_spgemm", statements: "C(i,j) +=! S(i,j) * A(i,k) * B(k,j)",
        roles: &[r("S", "MN"), r("A", "MK"), r("B", "KN"), r("C", "MN")] },
    Expression { name: "triple_product", statements: "C(i,j) +=! A(i,k) * B(k,l) * D(l,j)",
        roles: &[r("A", "MK"), r("B", "KL"), r("D", "LN"), r("C", "MN")] },
    Expression { name: "ttv", statements: "C(i,j) +=! T(i,j,k) * v(k)",
        roles: &[r("T", "MNK"), r("v", "K"), r("C", "MN")] },
    Expression { name: "ttm", statements: "C(i,j,l) +=! T(i,j,k) * B(k,l)",
        roles: &[r("T", "MNK"), r("B", "KL"), r("C", "MNL")] },
    Expression { name: "mttkrp", statements: "C(i,j) +=! T(i,k,l) * B(k,j) * D(l,j)",
        roles: &[r("T", "MKL"), r("B", "KN"), r("D", "LN"), r("C", "MN")] },
    Expression { name: "inner", statements: "C(i) +=! A(i,j) * v(j)",
        roles: &[r("A", "MN"), r("v", "N"), r("C", "M")] },
    Expression { name: "outer", statements: "C(i,j) = u(i) * v(j)",
        roles: &[r("u", "M"), r("v", "N"), r("C", "MN")] },
    Expression { name: "transpose", statements: "C(i,j) = A(j,i)",
        roles: &[r("A", "NM"), r("C", "MN")] },
    Expression { name: "convert", statements: "C(i,j) = A(i,j)",
        roles: &[r("A", "MN"), r("C", "MN")] },
    Expression { name: "convert_tensor", statements: "C(i,j,k) = A(i,j,k)",
        roles: &[r("A", "MNK"), r("C", "MNK")] },
    Expression { name: "permute_tensor", statements: "C(i,j,k) = A(k,i,j)",
        roles: &[r("A", "KMN"), r("C", "MNK")] },
    Expression { name: "slices", statements: "C(i,j) +=! A(i,k,j) * B(k,j,i)",
        roles: &[r("A", "MKN"), r("B", "KNM"), r("C", "MN")] },
    Expression { name: "twice", statements: "C(i,j) +=! A(i,k) * B(k,j)\n C(i,j) += S(j,i)",
        roles: &[r("A", "MK"), r("B", "KN"), r("S", "NM"), r("C", "MN")] },
];

const SIZES: [(char, u32); 4] = [('M', 7), ('N', 6), ('K', 8), ('L', 5)];

/// How a row of the table is computed.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Without a schedule: shared out to threads, counted first where that is needed.
    Automatic,
    /// The plain loops.
    Plain,
    /// Counted before it is stored; where every element has its place, the plain loops.
    TwoPhase,
    Gpu,
}

const WAYS: [Way; 4] = [Way::Automatic, Way::Plain, Way::TwoPhase, Way::Gpu];

/// Every order of the numbers below `order`.
fn permutations(order: usize) -> Vec<Vec<usize>> {
    if order == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(order - 1);
    let with = |at: usize| {
        let add = move |p: &Vec<usize>| {
            let mut p = p.clone();
            p.insert(at, order - 1);
            p
        };
        shorter.iter().map(add).collect::<Vec<_>>()
    };
    (0..order).rev().flat_map(with).collect()
}

/// Every format of so many dimensions: the level types, and the modes that they store.
fn formats(order: usize) -> Vec<(Vec<&'static str>, Vec<usize>)> {
    let kinds = [
        "dense",
        "compressed",
        "bitmap",
        "compressed(unordered)",
        "hashed",
    ];
    let mut levels: Vec<Vec<&'static str>> = vec![Vec::new()];
    for _ in 0..order {
        let longer = |l: &Vec<&'static str>| kinds.map(|k| [&l[..], &[k]].concat());
        levels = levels.iter().flat_map(longer).collect();
    }
    // Coordinates: of everything, and below a level.
    for outer in 0..order.saturating_sub(1) {
        let inner = match order - outer {
            2 => &["compressed(nonunique)", "singleton"][..],
            _ => &["compressed(nonunique)", "singleton(nonunique)", "singleton"],
        };
        levels.push([&["dense", "compressed"][..outer], inner].concat());
    }
    // Of everything, in no order.
    match order {
        2 => levels.push(vec![
            "compressed(nonunique, unordered)",
            "singleton(unordered)",
        ]),
        3 => levels.push(vec![
            "compressed(nonunique, unordered)",
            "singleton(nonunique, unordered)",
            "singleton(unordered)",
        ]),
        _ => {}
    }
    let orders = permutations(order);
    let all = |l: &Vec<&'static str>| {
        orders
            .iter()
            .map(|o| (l.clone(), o.clone()))
            .collect::<Vec<_>>()
    };
    levels.iter().flat_map(all).collect()
}

/// A stream of numbers that a seed decides.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % n as u64).unwrap()
    }
}

/// A row of the table: the text of its program, how it is compiled and the data it runs on.
struct Row {
    expression: &'static str,
    /// The format of each role, by its number.
    formats: Vec<usize>,
    text: String,
    options: Vec<String>,
    data: Vec<String>,
    /// Files of the data: a name, which stands in `data` behind a `@`, and what is in it.
    files: Vec<(String, String)>,
}

/// A row of an expression in which each role has the format of this number.
fn row(expression: &Expression, chosen: &[usize], way: Way, draw: &mut Draw) -> Row {
    let (result, operands) = expression.roles.split_last().unwrap();
    let dims = |role: &Role| {
        let names: Vec<String> = role.dims.chars().map(String::from).collect();
        names.join(",")
    };
    let declared = operands
        .iter()
        .map(|o| format!("double({}) {}", dims(o), o.name));
    let declared = declared.collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "def {}({declared}) -> (C) {{ {} }}\nformat {} {{\n",
        expression.name, expression.statements, expression.name
    );
    let mut has_places = false;
    for (role, &format) in expression.roles.iter().zip(chosen) {
        let (levels, modes) = &formats(role.dims.len())[format];
        let levels_text = levels.join(", ");
        let modes: Vec<String> = modes.iter().map(ToString::to_string).collect();
        let modes = modes.join(",");
        let _ = writeln!(text, "    {}: {{{levels_text}}} order ({modes})", role.name);
        has_places = levels.iter().all(|l| ["dense", "bitmap"].contains(l));
    }
    text += "}\n";
    // Sizes are constants of every other program; those that files tell are known when it runs.
    let is_matrix = |o: &&Role| o.dims.len() == 2;
    let used = |size: char| expression.roles.iter().any(|r| r.dims.contains(size));
    let told = |size: char| {
        operands
            .iter()
            .filter(is_matrix)
            .any(|o| o.dims.contains(size))
    };
    let sizes = SIZES.iter().filter(|(name, _)| used(*name));
    let from_files = sizes.clone().all(|(name, _)| told(*name)) && draw.below(2) == 0;
    let mut options: Vec<String> = Vec::new();
    for (name, size) in sizes.filter(|_| !from_files) {
        options.extend(["--size".to_string(), format!("{name}={size}")]);
    }
    match way {
        Way::Automatic => {}
        Way::TwoPhase if !has_places => {
            let name = expression.name;
            let _ = writeln!(
                text,
                "schedule {name} {{ assemble({}, two_phase) }}",
                result.name
            );
        }
        Way::Plain | Way::TwoPhase => options.push("--no-schedule".to_string()),
        Way::Gpu => options.extend(words("--target cuda")),
    }
    let mut files = Vec::new();
    let mut data = |role: &Role| {
        let (density, tenths) =
            [("0.1", 1), ("0.3", 3), ("0.3", 3), ("0.7", 7), ("0", 0)][draw.below(5)];
        if from_files && is_matrix(&role) {
            let name = format!("{}{}.mtx", role.name, draw.below(1_000_000));
            files.push((name.clone(), matrix(role, tenths, draw)));
            return format!("{}=@{name}", role.name);
        }
        format!("{}=random:{}:{density}", role.name, draw.below(1000))
    };
    let data = operands.iter().map(&mut data).collect();
    Row {
        expression: expression.name,
        formats: chosen.to_vec(),
        text,
        options,
        data,
        files,
    }
}

/// A matrix in a file's words, of which so many tenths are stored.
fn matrix(role: &Role, tenths: usize, draw: &mut Draw) -> String {
    let size = |name: char| SIZES.iter().find(|(own, _)| *own == name).unwrap().1;
    let dims: Vec<_> = role.dims.chars().map(size).collect();
    let mut stored = String::new();
    let mut count = 0;
    for i in 1..=dims[0] {
        for j in 1..=dims[1] {
            if draw.below(10) < tenths {
                let _ = writeln!(stored, "{i} {j} {}", draw.below(19) as f64 / 4.0 - 2.25);
                count += 1;
            }
        }
    }
    let [rows, columns] = dims[..] else {
        panic!("{} is no matrix", role.name)
    };
    format!("%%MatrixMarket matrix coordinate real general\n{rows} {columns} {count}\n{stored}")
}

/// So many rows of each expression: each format of each role stands in one before any other does
/// twice; those of the other roles are drawn.
fn table(rows: Option<usize>, seed: u64) -> Vec<(Way, Row)> {
    let mut out = Vec::new();
    let mut draw = Draw(seed);
    for (n, expression) in EXPRESSIONS.iter().enumerate() {
        let roles = expression.roles;
        let counts: Vec<usize> = roles.iter().map(|r| formats(r.dims.len()).len()).collect();
        let whole: usize = counts.iter().sum();
        let mut all: Vec<(usize, usize)> = Vec::new();
        for (role, &count) in counts.iter().enumerate() {
            all.extend((0..count).map(|format| (role, format)));
        }
        let count = rows.map_or(whole, |rows| {
            (rows * (n + 1) / EXPRESSIONS.len()) - rows * n / EXPRESSIONS.len()
        });
        let mut taken = BTreeSet::new();
        while taken.len() < count.min(whole) {
            let at = if count >= whole {
                taken.len()
            } else {
                draw.below(whole)
            };
            if !taken.insert(at) {
                continue;
            }
            let (role, format) = all[at];
            let mut chosen: Vec<usize> = counts.iter().map(|&c| draw.below(c)).collect();
            chosen[role] = format;
            let ways = if rows.is_none() {
                &WAYS[..]
            } else {
                &WAYS[draw.below(WAYS.len())..][..1]
            };
            for &way in ways {
                out.push((way, row(expression, &chosen, way, &mut draw)));
            }
        }
    }
    out
}

/// The rows that are to run, of these ways.
fn rows(cuda: bool) -> Vec<Row> {
    let asked = std::env::var("SPARSEC_TABLE").unwrap_or_else(|_| "150".to_string());
    let asked = (asked != "all").then(|| asked.parse().expect("SPARSEC_TABLE: a number, or all"));
    let seed = std::env::var("SPARSEC_TABLE_SEED").ok();
    let seed = seed.map_or(1, |s| s.parse().expect("SPARSEC_TABLE_SEED: a number"));
    let all = table(asked, seed);
    all.into_iter()
        .filter(|(way, _)| (*way == Way::Gpu) == cuda)
        .map(|(_, row)| row)
        .collect()
}

fn check(rows: &[Row]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.tc");
    let flags = format!("-O1 {}", poison());
    // SAFETY: set before any thread of this test reads it; all tests set the same.
    unsafe { std::env::set_var("SPARSEC_CFLAGS", flags) };
    let mut cases = Vec::new();
    let mut wrong = Vec::new();
    for row in rows {
        std::fs::write(&path, &row.text).unwrap();
        let mut args = vec![path.display().to_string()];
        args.extend(row.options.iter().cloned());
        let text = format!("{}\n{}\n", row.options.join(" "), row.text);
        for (name, content) in &row.files {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let place = format!("={}/", folder.path().display());
        let data = row
            .data
            .iter()
            .map(|own| own.replace("=@", &place))
            .collect();
        match compile(&parse(&args)) {
            Ok(compiled) => cases.push(Case {
                runs: vec![data],
                ..Case::new(text, compiled)
            }),
            Err(reason) => wrong.push(format!("{text}{reason}")),
        }
    }
    println!("{} rows, {} refused", rows.len(), wrong.len());
    let cuda = rows
        .first()
        .is_some_and(|r| r.options.iter().any(|o| o == "cuda"));
    wrong.extend(run_with(&cases, if cuda { &[] } else { &[1, 2, 7] }));
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

#[test]
fn every_format_of_every_role() {
    check(&rows(false));
}

#[test]
fn every_format_of_every_role_on_the_emulator() {
    check(&rows(true));
}

/// The whole table has every format of every role.
#[test]
fn the_whole_table_is_whole() {
    let all = table(None, 1);
    for expression in EXPRESSIONS {
        for (at, role) in expression.roles.iter().enumerate() {
            let of = all
                .iter()
                .filter(|(_, row)| row.expression == expression.name);
            let found: BTreeSet<usize> = of.map(|(_, row)| row.formats[at]).collect();
            let expected = (0..formats(role.dims.len()).len()).collect();
            assert_eq!(found, expected, "{} {}", expression.name, role.name);
        }
    }
}
