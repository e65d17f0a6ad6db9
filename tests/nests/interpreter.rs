//! Runs a kernel's loop IR as the emitter of C gets it, and counts the steps that its loops take.
//!
//! A step is an iteration of a merge (`while`), or an iteration of another loop in which no loop runs: so those of
//! innermost loops count, whether they compute, clear, or copy, and those that pass over empty rows. Lanes and
//! unrolled iterations count each, and so does each comparison of a search. What the runtime does in one call does
//! not: sorting the coordinates of a row, setting memory to zero.

mod values;

use sparsec::data::{self, Packed, Tensor, Values, unpack, values::Number};
use sparsec::driver::bind::Bound;
use sparsec::level::IndexArray;
use sparsec::loops::interface::{Arg, Direction, TensorArg};
use sparsec::loops::ir::{Array, ArrayId, Expr, Kernel, Stmt, Storage};
use sparsec::program::ir::{Function, TensorId};
use std::collections::BTreeMap;
use values::Value;

/// What a run of a kernel takes and gives.
pub struct Counted {
    pub steps: u64,
    /// Those of each nest of loops, by the variables of its loops.
    pub nests: BTreeMap<String, u64>,
    pub results: BTreeMap<TensorId, Tensor>,
}

/// Runs the kernel of a function on data.
pub fn run(kernel: &Kernel, function: &Function, bound: &Bound) -> Counted {
    let mut machine = Machine {
        kernel,
        vars: vec![Value::Int(0); kernel.vars.len()],
        memory: kernel.arrays.iter().map(|_| Vec::new()).collect(),
        places: (0..kernel.arrays.len()).map(|at| (at, 0)).collect(),
        open: Vec::new(),
        steps: 0,
        nests: BTreeMap::new(),
    };
    for size in &kernel.interface.sizes {
        let mut sizes = function.sizes.iter().zip(0..);
        let at = sizes.find(|(own, _)| own.name == size.name).unwrap().1;
        let value = bound.sizes.iter().find(|(id, _)| id.index() == at);
        machine.vars[size.var.index()] = Value::Int(*value.unwrap().1);
    }
    for tensor in tensors(kernel) {
        machine.give(tensor, function, bound);
    }
    machine.stmts(&kernel.body);
    let made = tensors(kernel).filter(|tensor| tensor.direction != Direction::In);
    let results = made.map(|tensor| machine.take(tensor, function));
    Counted {
        results: results.collect(),
        steps: machine.steps,
        nests: machine.nests,
    }
}

fn tensors(kernel: &Kernel) -> impl Iterator<Item = &TensorArg> {
    kernel.interface.args.iter().filter_map(|arg| match arg {
        Arg::Tensor(tensor) => Some(tensor),
        Arg::Scalar { .. } => None,
    })
}

struct Machine<'k> {
    kernel: &'k Kernel,
    vars: Vec<Value>,
    memory: Vec<Vec<Value>>,
    /// Where each array's elements stand: whose memory, and from which place on.
    places: Vec<(usize, usize)>,
    /// The variables of the loops that run.
    open: Vec<String>,
    steps: u64,
    nests: BTreeMap<String, u64>,
}

impl Machine<'_> {
    fn array(&self, id: ArrayId) -> &Array {
        self.kernel.array(id)
    }

    /// A parameter's arrays; those of a result are empty, or hold zeros where it is dense.
    fn give(&mut self, tensor: &TensorArg, function: &Function, bound: &Bound) {
        let extents = tensor.dims.iter().map(|dim| self.expr(dim).int());
        let dims: Vec<u64> = extents.map(|n| n.unsigned_abs()).collect();
        let id = function.tensor_named(&tensor.name).unwrap();
        let (ty, format) = (tensor.ty, &function.tensor(id).format);
        if tensor.direction == Direction::Out {
            if self.array(tensor.values).storage == Storage::Output {
                let count = dims.iter().product::<u64>() as usize;
                self.memory[tensor.values.index()] = vec![Value::zero(ty); count];
            }
            return;
        }
        let fill = function.tensor(id).fill;
        let packed = data::pack(&bound.tensors[&id], ty, (&dims, 0), format, fill).unwrap();
        for (level, arrays) in tensor.levels.iter().zip(&packed.levels) {
            for ((_, array), given) in level.arrays.iter().zip(arrays) {
                let elements = (0..given.len() as u64).map(|at| given.get(at).unwrap() as i64);
                self.memory[array.index()] = elements.map(Value::Int).collect();
            }
        }
        let values = (0..packed.values.len()).map(|at| Value::Float(packed.values.get(at).real()));
        self.memory[tensor.values.index()] = values.collect();
    }

    /// A result as it stands in its arrays.
    fn take(&mut self, tensor: &TensorArg, function: &Function) -> (TensorId, Tensor) {
        let extents = tensor.dims.iter().map(|dim| self.expr(dim).int());
        let dims: Vec<u64> = extents.map(|n| n.unsigned_abs()).collect();
        let id = function.tensor_named(&tensor.name).unwrap();
        let own = |array: ArrayId| self.memory[array.index()].iter().copied();
        // The levels of an operand whose coordinates the result has.
        let like = tensor.like.as_ref().map_or(&[][..], |(name, count)| {
            let mut all = tensors(self.kernel);
            &all.find(|other| other.name == *name).unwrap().levels[..*count]
        });
        let mut positions = 1;
        let mut levels = Vec::new();
        for level in like.iter().chain(&tensor.levels[like.len()..]) {
            let arrays = level.arrays.iter();
            let mut arrays: Vec<Vec<i64>> = arrays
                .map(|(_, array)| own(*array).map(Value::int).collect())
                .collect();
            positions = match arrays.as_slice() {
                [] => positions * dims[level.mode] as usize,
                [first, ..] => first[positions] as usize,
            };
            if let [_, coordinates] = arrays.as_mut_slice() {
                coordinates.truncate(positions);
            }
            levels.push(arrays.into_iter().map(IndexArray::I64).collect());
        }
        let mut values = Values::filled(tensor.ty, 0, Number::Int(0));
        for value in own(tensor.values).take(positions) {
            values.push(Number::Real(value.float()));
        }
        let packed = Packed {
            dims,
            slots: 0,
            format: function.tensor(id).format.clone(),
            fill: function.tensor(id).fill,
            levels,
            values,
        };
        (id, unpack(&packed))
    }

    fn stmts(&mut self, all: &[Stmt]) {
        for stmt in all {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { var, init } => self.vars[var.index()] = self.expr(init),
            Stmt::Assign { var, op, value } => {
                let value = self.combined(*op, self.vars[var.index()], value);
                self.vars[var.index()] = value;
            }
            Stmt::Store {
                array,
                index,
                op,
                value,
                atomic: _,
            } => {
                let at = self.expr(index).index();
                let before = op.map_or(Value::Int(0), |_| self.load(*array, at));
                let value = self.combined(*op, before, value);
                self.store(*array, at, value);
            }
            Stmt::For {
                var,
                lo,
                hi,
                most: _,
                step,
                tag: _,
                body,
            } => {
                let (mut at, end) = (self.expr(lo).int(), self.expr(hi).int());
                self.open.push(self.kernel.var(*var).name.clone());
                while at < end {
                    let before = self.steps;
                    self.vars[var.index()] = Value::Int(at);
                    self.stmts(body);
                    if self.steps == before {
                        self.count(1);
                    }
                    at += step;
                }
                self.open.pop();
            }
            Stmt::While { cond, body } => {
                self.open.push("merge".to_string());
                while self.expr(cond).holds() {
                    self.count(1);
                    self.stmts(body);
                }
                self.open.pop();
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => match self.expr(cond).holds() {
                true => self.stmts(then),
                false => self.stmts(otherwise),
            },
            Stmt::Alloc { array, count, .. } => {
                let zero = Value::zero(self.array(*array).elem);
                self.memory[array.index()] = vec![zero; self.expr(count).index()];
            }
            Stmt::Append { rooms, body } => {
                for room in rooms {
                    self.vars[room.capacity.index()] = Value::Int(0);
                }
                self.stmts(body);
            }
            Stmt::Declare { array, count } => {
                let zero = Value::zero(self.array(*array).elem);
                self.memory[array.index()] = vec![zero; *count as usize];
            }
            Stmt::Slice { array, of, offset } => {
                let (whose, from) = self.places[of.index()];
                self.places[array.index()] = (whose, from + self.expr(offset).index());
            }
            Stmt::Fill {
                array,
                start,
                count,
                value,
            } => {
                let (start, count) = (self.expr(start).index(), self.expr(count).index());
                let value = self.expr(value);
                for at in start..start + count {
                    self.store(*array, at, value);
                }
            }
            Stmt::Search {
                var,
                array,
                lo,
                hi,
                key,
                by: _,
            } => {
                let (mut lo, mut hi) = (self.expr(lo).int(), self.expr(hi).int());
                let key = self.expr(key).int();
                while lo < hi {
                    self.count(1);
                    let middle = i64::midpoint(lo, hi);
                    match self.load(*array, middle as usize).int() < key {
                        true => lo = middle + 1,
                        false => hi = middle,
                    }
                }
                self.vars[var.index()] = Value::Int(lo);
            }
            Stmt::Take { var, array, index } => {
                let at = self.expr(index).index();
                let taken = self.load(*array, at);
                self.vars[var.index()] = taken;
                self.store(*array, at, Value::Int(taken.int() + 1));
            }
            Stmt::Sort {
                coordinates,
                values,
                count,
                distinct: _,
            } => self.sort(coordinates, *values, count),
            Stmt::FailIf { cond, code } => {
                assert!(!self.expr(cond).holds(), "the kernel fails: {code:?}");
            }
            Stmt::Grow { .. }
            | Stmt::Trim { .. }
            | Stmt::Assume { .. }
            | Stmt::Free { .. }
            | Stmt::Prefetch { .. }
            | Stmt::Comment(_) => {}
            Stmt::Enter { .. } | Stmt::Scan { .. } | Stmt::Device(_) => {
                panic!("no kernel of these programs has it: {stmt:?}")
            }
        }
    }

    fn count(&mut self, steps: u64) {
        self.steps += steps;
        *self.nests.entry(self.open.join(" ")).or_default() += steps;
    }

    fn sort(&mut self, coordinates: &[ArrayId], values: ArrayId, count: &Expr) {
        let count = self.expr(count).index();
        let key = |at: &usize| {
            let all = coordinates.iter();
            all.map(|&c| self.load(c, *at).int()).collect::<Vec<_>>()
        };
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(key);
        for &array in coordinates.iter().chain([&values]) {
            let sorted: Vec<Value> = order.iter().map(|&at| self.load(array, at)).collect();
            for (at, value) in sorted.into_iter().enumerate() {
                self.store(array, at, value);
            }
        }
    }

    fn load(&self, array: ArrayId, at: usize) -> Value {
        let (whose, from) = self.places[array.index()];
        self.memory[whose][from + at]
    }

    /// What a kernel appends to has room when it is needed.
    fn store(&mut self, array: ArrayId, at: usize, value: Value) {
        let (whose, from) = self.places[array.index()];
        let zero = Value::zero(self.kernel.arrays[whose].elem);
        let memory = &mut self.memory[whose];
        if memory.len() <= from + at {
            memory.resize(from + at + 1, zero);
        }
        memory[from + at] = value;
    }
}
