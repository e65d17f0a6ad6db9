//! Runs the statements of a launch for all units at once, and compares what values differ
//! between with what [`Uniform`] says.

use super::{Uniform, Units};
use crate::loops::ir::{
    ArrayId, Axis, BinaryOp, Expr, ExprKind, GpuLevel, GpuUnit, Kernel, Literal, Look, Place,
    ReduceOp, Stmt, VarId,
};

/// Units are numbers, of which each coordinate is a bit. Two warps of two lanes make the four
/// threads along x.
pub(super) const COUNT: usize = 1 << 5;
const BLOCK: usize = 1;
const WARP: usize = 1 << 1;
const LANE: usize = 1 << 2;
const ROW: usize = 1 << 3;
/// Who runs an iteration of the loop around all statements.
pub(super) const ITERATION: usize = 1 << 4;

/// What a value may vary with, and the bits that tell.
const KINDS: [(Units, usize); 5] = [
    (Units(1), BLOCK),
    (Units(1 << 3), WARP),
    (Units(1 << 4), WARP | LANE),
    (Units(1 << 5), ROW),
    (Units::ITERATION, ITERATION),
];

/// What is asked of values, and the bits of those that may differ.
const ASKED: [(Units, usize); 3] = [
    (Units::BLOCKS, BLOCK),
    (Units::THREADS, WARP | LANE | ROW),
    (Units::ITERATION, ITERATION),
];

/// A value of each unit.
type Values = [i64; COUNT];

/// Units that come to a statement: all, and which of them do.
type Active = [bool; COUNT];

/// Turns of a loop after which all units go on.
const TURNS: usize = 4;

/// Elements of each array.
const SIZE: usize = 7;

/// How often a value was the same for two units, and how often it was said to vary.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub same: u32,
    pub unsure: u32,
}

impl Tally {
    /// Prints the share that stands in src/README.md, which is below `most`.
    pub fn report(self, most: f64) {
        let Tally { same, unsure } = self;
        let share = f64::from(unsure) / f64::from(same);
        println!("unsure of {unsure} of {same} that are the same: {share:.3}");
        assert!(share < most, "unsure of {unsure} of {same}");
    }
}

/// Which loops over units are around, and the bits that tell who runs which iterations.
#[derive(Clone, Copy, Default)]
struct Around {
    units: Units,
    bits: usize,
}

pub(super) struct Lockstep<'a> {
    kernel: &'a Kernel,
    uniform: &'a Uniform,
    vars: Vec<Values>,
    scope: Vec<VarId>,
    /// Of each array, elements of each unit: of its own, or those of the first unit with the
    /// same bits `homes`.
    arrays: Vec<[Values; SIZE]>,
    homes: Vec<usize>,
    tally: &'a mut Tally,
    /// What was said wrongly.
    pub wrong: Option<String>,
}

impl<'a> Lockstep<'a> {
    pub fn new(kernel: &'a Kernel, uniform: &'a Uniform, tally: &'a mut Tally) -> Self {
        let content = |array: usize| {
            std::array::from_fn(|at| [i64::try_from((at * 3 + array) % 4).expect("small"); COUNT])
        };
        Lockstep {
            kernel,
            uniform,
            vars: vec![[0; COUNT]; kernel.vars.len()],
            scope: Vec::new(),
            arrays: (0..kernel.arrays.len()).map(content).collect(),
            homes: vec![0; kernel.arrays.len()],
            tally,
            wrong: None,
        }
    }

    /// Gives a variable of outside a value, each unit of these bits another one.
    pub fn set(&mut self, var: VarId, bits: usize) {
        self.vars[var.index()] = std::array::from_fn(|unit| number(unit, bits));
        self.scope.push(var);
    }

    /// Gives each thread its own of an array.
    pub fn own(&mut self, array: ArrayId) {
        self.homes[array.index()] = COUNT - 1;
    }

    pub fn run(&mut self, active: &Active) {
        self.list(&self.kernel.body, active, Around::default());
    }

    fn list(&mut self, body: &[Stmt], active: &Active, around: Around) {
        if !active.contains(&true) {
            return;
        }
        let outer = self.scope.len();
        for stmt in body {
            self.stmt(stmt, active, around);
            if !matches!(stmt, Stmt::For { .. }) {
                self.scope.extend(stmt.declares());
            }
            self.look(active, around);
        }
        self.scope.truncate(outer);
    }

    /// Compares all variables with what is said of them.
    fn look(&mut self, active: &Active, around: Around) {
        for at in 0..self.scope.len() {
            let var = self.scope[at];
            let said = self.uniform.of_var(var, around.units);
            let values = self.vars[var.index()];
            self.compare(&values, said, active, || self.kernel.var(var).name.clone());
        }
    }

    fn compare(
        &mut self,
        values: &Values,
        said: Units,
        active: &Active,
        what: impl Fn() -> String,
    ) {
        let kinds = KINDS.iter().filter(|(kind, _)| said.meets(*kind));
        let told = kinds.fold(0, |all, (_, bits)| all | bits);
        if is_told(values, told, active) == Some(false) && self.wrong.is_none() {
            self.wrong = Some(format!("{} is said to vary with {said:?}", what()));
        }
        for (kind, bits) in ASKED {
            if is_told(values, !bits, active) == Some(true) {
                self.tally.same += 1;
                self.tally.unsure += u32::from(said.meets(kind));
            }
        }
    }

    fn expr(&mut self, e: &Expr, active: &Active, around: Around) -> Values {
        let values = std::array::from_fn(|unit| match active[unit] {
            true => self.value(e, unit),
            false => 0,
        });
        let said = self.uniform.units(e, around.units);
        self.compare(&values, said, active, || format!("{e:?}"));
        values
    }

    fn stmt(&mut self, stmt: &Stmt, active: &Active, around: Around) {
        let units = || (0..COUNT).filter(|unit| active[*unit]);
        if let Stmt::Let { var, init } = stmt {
            let values = self.expr(init, active, around);
            units().for_each(|unit| self.vars[var.index()][unit] = values[unit]);
        } else if let Stmt::Assign { var, op, value } = stmt {
            let values = self.expr(value, active, around);
            for unit in units() {
                let old = &mut self.vars[var.index()][unit];
                *old = combine(*op, *old, values[unit]);
            }
        } else if let Stmt::Store {
            array,
            index,
            op,
            value,
            ..
        } = stmt
        {
            let at = self.expr(index, active, around);
            let values = self.expr(value, active, around);
            for unit in units() {
                let home = unit & self.homes[array.index()];
                let old = &mut self.arrays[array.index()][element(at[unit])][home];
                *old = combine(*op, *old, values[unit]);
            }
        } else if let Stmt::Search {
            var,
            array,
            lo,
            hi,
            key,
            by,
        } = stmt
        {
            let [lo, hi, key] = [lo, hi, key].map(|e| self.expr(e, active, around));
            for unit in units() {
                let reaches = |p: &i64| {
                    let met = self.element(*array, *p, unit);
                    met == key[unit] || (met > key[unit] && !matches!(by, Look::Table(_)))
                };
                let found = (lo[unit]..hi[unit]).find(reaches);
                self.vars[var.index()][unit] = found.unwrap_or(hi[unit]);
            }
        } else if let Stmt::If {
            cond,
            then,
            otherwise,
        } = stmt
        {
            let holds = self.expr(cond, active, around);
            self.list(then, &of_those(active, |unit| holds[unit] != 0), around);
            self.list(
                otherwise,
                &of_those(active, |unit| holds[unit] == 0),
                around,
            );
        } else if let Stmt::While { cond, body } = stmt {
            let mut active = *active;
            for _ in 0..TURNS {
                let holds = self.expr(cond, &active, around);
                active = of_those(&active, |unit| holds[unit] != 0);
                self.list(body, &active, around);
            }
        } else if let Stmt::Declare { array, .. } = stmt {
            // Those of a thread's own stay so.
            self.homes[array.index()] |= BLOCK | around.bits;
        } else {
            self.counted(stmt, active, around);
        }
    }

    /// A loop over a range.
    fn counted(&mut self, stmt: &Stmt, active: &Active, around: Around) {
        let Stmt::For {
            var,
            lo,
            hi,
            step,
            tag,
            body,
            ..
        } = stmt
        else {
            panic!("no test has {stmt:?}");
        };
        let bits = tag.gpu().map_or(0, |unit| bits(unit, around.units));
        let inside = Around {
            units: around
                .units
                .and(tag.gpu().map(Units::of).unwrap_or_default()),
            bits: around.bits | bits,
        };
        let count = bits.count_ones();
        let lo = self.expr(lo, active, around);
        let hi = self.expr(hi, active, around);
        let saved: Vec<(VarId, Values)> = tag
            .reductions()
            .iter()
            .filter(|_| bits != 0)
            .map(|(_, var)| {
                (
                    *var,
                    std::mem::replace(&mut self.vars[var.index()], [0; COUNT]),
                )
            })
            .collect();
        for turn in 0..i64::try_from(TURNS).expect("small") {
            let at = |unit: usize| lo[unit] + step * (number(unit, bits) + (turn << count));
            let active = of_those(active, |unit| at(unit) < hi[unit]);
            for unit in (0..COUNT).filter(|unit| active[*unit]) {
                self.vars[var.index()][unit] = at(unit);
            }
            self.scope.push(*var);
            self.list(body, &active, inside);
            self.scope.pop();
        }
        for (var, old) in saved {
            let parts = self.vars[var.index()];
            let all = |unit: usize| {
                let others = (0..COUNT).filter(|other| (other ^ unit) & !bits == 0);
                others
                    .filter(|other| active[*other])
                    .map(|other| parts[other])
                    .sum::<i64>()
            };
            self.vars[var.index()] = std::array::from_fn(|unit| match active[unit] {
                true => old[unit] + all(unit),
                false => old[unit],
            });
        }
    }

    fn element(&self, array: ArrayId, at: i64, unit: usize) -> i64 {
        let array = array.index();
        self.arrays[array][element(at)][unit & self.homes[array]]
    }

    fn value(&self, e: &Expr, unit: usize) -> i64 {
        let of = |e: &Expr| self.value(e, unit);
        if let ExprKind::Load { array, index } = &e.kind {
            return self.element(*array, of(index), unit);
        }
        if let ExprKind::Var(v) = e.kind {
            return self.vars[v.index()][unit];
        }
        if let ExprKind::Binary(op, x, y) = &e.kind {
            let (x, y) = (of(x), of(y));
            if *op == BinaryOp::Add {
                return x + y;
            }
            assert_eq!(*op, BinaryOp::Lt, "no test has others");
            return i64::from(x < y);
        }
        if let ExprKind::Locate(parent, extent, at) = &e.kind {
            return of(parent) * of(extent) + of(at);
        }
        if let ExprKind::Place(place) = e.kind {
            return match place {
                Place::Threads | Place::Blocks(_) => 2,
                Place::BlockIndex(_) => number(unit, BLOCK),
                Place::Thread | Place::ThreadIndex(_) => number(unit, WARP | LANE | ROW),
            };
        }
        let ExprKind::Literal(Literal::Int(value)) = e.kind else {
            panic!("no test has {e:?}");
        };
        value
    }
}

/// The bits of a unit's number by which it knows its iterations, inside loops over others.
fn bits(unit: GpuUnit, around: Units) -> usize {
    match (unit.level, unit.axis) {
        (GpuLevel::Block, _) => BLOCK,
        // Who is busy with iterations of a loop outside runs all of these.
        _ if around.meets(Units::of(unit)) => 0,
        (GpuLevel::Warp, _) => WARP,
        (GpuLevel::Thread, Axis::X) if around.meets(Units(1 << 3)) => LANE,
        (GpuLevel::Thread, Axis::X) => WARP | LANE,
        (GpuLevel::Thread, Axis::Y | Axis::Z) => ROW,
    }
}

/// The number that these bits of a unit make.
fn number(unit: usize, bits: usize) -> i64 {
    let own = (0..usize::BITS).filter(|bit| bits >> bit & 1 != 0);
    let digits = own.enumerate();
    digits.fold(0, |sum, (at, bit)| {
        sum | i64::from(unit >> bit & 1 != 0) << at
    })
}

fn of_those(active: &Active, test: impl Fn(usize) -> bool) -> Active {
    std::array::from_fn(|unit| active[unit] && test(unit))
}

/// Whether units with the same of these bits have the same value; `None` if no two are there.
fn is_told(values: &Values, bits: usize, active: &Active) -> Option<bool> {
    let mut known: [Option<i64>; COUNT] = [None; COUNT];
    let mut found = None;
    for unit in (0..COUNT).filter(|unit| active[*unit]) {
        match &mut known[unit & bits & (COUNT - 1)] {
            Some(value) if *value != values[unit] => return Some(false),
            Some(_) => found = Some(true),
            empty => *empty = Some(values[unit]),
        }
    }
    found
}

fn element(at: i64) -> usize {
    let size = i64::try_from(SIZE).expect("small");
    usize::try_from(at.rem_euclid(size)).expect("positive")
}

fn combine(op: Option<ReduceOp>, old: i64, value: i64) -> i64 {
    match op {
        None => value,
        Some(ReduceOp::Add) => old + value,
        Some(op) => panic!("no test has {op:?}"),
    }
}
