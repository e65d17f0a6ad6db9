//! Awkward names: words that C, C++ and their headers have taken, names that the emitter
//! makes, and names that differ in case or in a number alone. A file is drawn with plain names
//! and then renamed, before its schedules are drawn.

use crate::maker::Maker;
use crate::program::{Expr, File, Program, Stmt, words};
use std::collections::BTreeMap;

/// Words that somebody has taken. Names of types are no names here: `float(e)` converts.
const TAKEN: &str = "
    register restrict main errno I auto static const volatile inline signed unsigned typeof
    asm linux unix NULL INFINITY NAN stdin malloc free exp fmax sqrt abs pow j0 y1 gamma
    index time int32_t size_t complex class template this new delete nullptr M_PI EOF min
    max omp_get_thread_num threadIdx blockIdx warpSize dim3 in where def format schedule
    fill order let param named for if else while return break struct union goto switch case
    default sizeof void char short sum error fail status block thread count pos crd vals
    dims tensors tensor op csr dense S0 S1 a0 b1 p2 x3 v4 sparsec_tensor SPARSEC_OK
    sparsec_check _x x_ 2LUT k2LUT _1 int32 EIO INT8_MAX BUFSIZ random isnan exp2 union
";

/// Names of functions beside the words above.
const FUNCTIONS: &str = "
    printf memcpy exit smoke_f f_kernel sparsec_f f_raw1 F T0 i y t_spec random isnan exp2
    remainder acosh signbit
";

/// What the emitter makes of a name, or an eye of two.
const LIKE: &str = "
    {}_vals {}_pos {}_crd {}2_pos {}2_crd {}1_pos {}_dims {}_size {}_spec {}_levels
    {}_stored {}_positions p{} p{}2 p{}2_end {}_raw {}2 {}_2 {}_ {}_o {}_i {}_end {}_out
    {}_capacity
";

impl Maker {
    fn word(&mut self, list: &'static str) -> &'static str {
        let words: Vec<&str> = list.split_whitespace().collect();
        self.pick(&words)
    }

    /// Gives some of a file's names to others.
    pub fn rename(&mut self, file: &mut File) {
        self.note("awkward names");
        let known = file.names();
        let mut map: BTreeMap<String, String> = BTreeMap::new();
        for name in &known {
            if !self.chance(45) {
                continue;
            }
            let other = known[self.below(known.len())].clone();
            let awkward = match self.below(6) {
                0..=2 => self.word(TAKEN).to_string(),
                3 | 4 => self.word(LIKE).replace("{}", &other),
                _ if name.chars().any(char::is_uppercase) => other.to_lowercase(),
                _ => other.to_uppercase(),
            };
            let taken = known.contains(&awkward) || map.values().any(|n| *n == awkward);
            if !taken {
                map.insert(name.clone(), awkward);
            }
        }
        *file = file.renamed(&map);
        self.sizes = file.sizes.clone();
        let mut functions: BTreeMap<String, String> = BTreeMap::new();
        for function in &file.functions {
            let name = match self.below(4) {
                0 | 1 => self.word(TAKEN),
                2 => self.word(FUNCTIONS),
                _ => continue,
            };
            let taken = file.functions.iter().any(|f| f.name == name);
            if !taken && functions.values().all(|n| n != name) {
                functions.insert(function.name.clone(), name.to_string());
            }
        }
        *file = file.with_functions(&functions);
    }
}

fn plain(name: &str) -> bool {
    let numbered = |rest: &str| rest.parse::<u32>().is_ok();
    matches!(
        name,
        "t" | "u" | "y" | "i" | "j" | "k" | "l" | "m" | "I" | "J" | "K" | "L" | "M"
    ) || name
        .strip_prefix(['T', 'G', 'X', 'c'])
        .is_some_and(numbered)
}

impl File {
    /// Names of tensors, variables and sizes in all functions, each once.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.sizes.iter().map(|(name, _)| name.clone()).collect();
        for function in &self.functions {
            names.extend(function.params.iter().map(|p| p.name.clone()));
            for call in &function.calls {
                names.extend(call.results.iter().cloned());
                names.extend(call.lefts.iter().flatten().cloned());
            }
            for stmt in &function.stmts {
                names.push(stmt.target.clone());
                names.extend(stmt.left.iter().flat_map(|s| words(s)).map(str::to_string));
                names.extend(accessed(&stmt.right));
            }
        }
        names.sort();
        names.dedup();
        names
    }

    pub fn is_awkward(&self) -> bool {
        self.functions.iter().any(|f| f.name.len() > 1) || self.names().iter().any(|n| !plain(n))
    }

    /// Smaller by an awkward name.
    pub fn with_plainer_names(&self) -> Vec<File> {
        let names = self.names();
        let mut out = Vec::new();
        for name in names.iter().filter(|name| !plain(name)) {
            let sizes = self.sizes.iter().any(|(n, _)| n == name);
            let variable = self.functions.iter().flat_map(|f| &f.stmts).any(|s| {
                s.left.iter().any(|s| words(s).any(|w| w == name))
                    || s.right
                        .subscripts()
                        .iter()
                        .any(|s| words(s).any(|w| w == name))
            });
            let candidates: Vec<String> = if sizes {
                ["I", "J", "K", "L", "M"].map(String::from).to_vec()
            } else if variable {
                ["i", "j", "k", "l", "m"].map(String::from).to_vec()
            } else {
                (0..9).map(|n| format!("T{n}")).collect()
            };
            if let Some(free) = candidates.into_iter().find(|c| !names.contains(c)) {
                out.push(self.renamed(&BTreeMap::from([(name.clone(), free)])));
            }
        }
        for (at, function) in self.functions.iter().enumerate() {
            let name = ["f", "g", "h"][at.min(2)].to_string();
            if function.name != name && self.functions.iter().all(|f| f.name != name) {
                out.push(self.with_functions(&BTreeMap::from([(function.name.clone(), name)])));
            }
        }
        out
    }

    fn with_functions(&self, map: &BTreeMap<String, String>) -> File {
        let mut file = self.clone();
        for function in &mut file.functions {
            let called = function.calls.iter_mut().map(|c| &mut c.callee);
            for name in called.chain([&mut function.name]) {
                if let Some(new) = map.get(name) {
                    name.clone_from(new);
                }
            }
        }
        file
    }

    fn renamed(&self, map: &BTreeMap<String, String>) -> File {
        let mut file = self.clone();
        for (name, _) in &mut file.sizes {
            replace(name, map);
        }
        file.functions.iter_mut().for_each(|f| f.rename(map));
        file
    }
}

impl Program {
    fn rename(&mut self, map: &BTreeMap<String, String>) {
        for param in &mut self.params {
            replace(&mut param.name, map);
            param.dims.iter_mut().for_each(|dim| replace(dim, map));
        }
        for call in &mut self.calls {
            let lefts = call.lefts.iter_mut().flatten();
            let names = call.args.iter_mut().chain(&mut call.results);
            names.chain(lefts).for_each(|name| replace(name, map));
        }
        for (name, _) in &mut self.formats {
            replace(name, map);
        }
        self.returned.iter_mut().for_each(|name| replace(name, map));
        self.schedule.iter_mut().for_each(|text| replace(text, map));
        self.stmts.iter_mut().for_each(|stmt| stmt.rename(map));
    }
}

impl Stmt {
    fn rename(&mut self, map: &BTreeMap<String, String>) {
        replace(&mut self.target, map);
        self.left.iter_mut().for_each(|v| replace(v, map));
        for (variable, range) in &mut self.ranges {
            replace(variable, map);
            replace(range, map);
        }
        self.right.rename(map);
    }
}

impl Expr {
    fn rename(&mut self, map: &BTreeMap<String, String>) {
        if let Expr::Access(name, subscripts) = self {
            replace(name, map);
            subscripts.iter_mut().for_each(|s| replace(s, map));
        }
        let children = self.children_mut();
        children.into_iter().for_each(|child| child.rename(map));
    }

    fn subscripts(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.accesses(&mut found);
        found.into_iter().flat_map(|(_, s)| s).collect()
    }
}

/// Tensors and scalars, and the names in subscripts.
fn accessed(e: &Expr) -> Vec<String> {
    let mut names = Vec::new();
    if let Expr::Access(name, subscripts) = e {
        names.push(name.clone());
        for subscript in subscripts {
            names.extend(words(subscript).map(str::to_string));
        }
    }
    names.extend(e.children().into_iter().flat_map(accessed));
    names
}

/// Renames each word of a text, and what commands make of names: `i_o`, `b3_T0_tile`.
fn replace(text: &mut String, map: &BTreeMap<String, String>) {
    let renamed = |word: &str| {
        if let Some(new) = map.get(word) {
            return new.clone();
        }
        for (old, new) in map {
            for (before, after) in [("", "_o"), ("", "_i"), ("_", "_tile")] {
                let made = format!("{before}{old}{after}");
                if let Some(rest) = word.strip_suffix(&made) {
                    return format!("{rest}{before}{new}{after}");
                }
            }
        }
        word.to_string()
    };
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        if !word.is_empty() {
            out += &renamed(&word);
            word.clear();
        }
        out.push(c);
    }
    out.pop();
    *text = out;
}
