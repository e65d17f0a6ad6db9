//! Statements, one after another.

use super::enumerate::{Driver, Plan, Planner, drivers};
use super::exact::{Leaves, Value, eval};
use super::load::{Content, Operand, dense};
use super::node::{Kind, Node, Reduction, Translator, eval_size, walk};
use super::partial::{Partial, combine};
use super::rounding::{Bounded, epsilon, stored};
use super::value::{convert, wrap};
use super::{EvalError, Expected, Inputs, Outputs};
use crate::data::values::{Number, Values, literal};
use crate::data::{Coo, Tensor};
use crate::program::ir::{
    Bound, Expr, ExprKind, Function, ReduceOp, Role, Statement, TensorId, VarId,
};
use crate::scalar::ScalarType;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Evaluates a function.
///
/// # Errors
/// Data that leads outside a tensor, or does not fit.
pub fn evaluate(function: &Function, inputs: &Inputs) -> Result<Outputs, EvalError> {
    let mut judge = Judge {
        function,
        inputs,
        operands: BTreeMap::new(),
        error: BTreeMap::new(),
    };
    judge.load()?;
    for stmt in &function.stmts {
        judge.statement(stmt)?;
    }
    let mut outputs = Outputs::default();
    for &id in &function.results {
        let Some(operand) = judge.operands.remove(&id) else {
            continue;
        };
        let count = operand.stored();
        let mut tolerance = judge.error.remove(&id).unwrap_or_default();
        tolerance.resize(count, 0.0);
        let tensor = match operand.content {
            Content::Dense(values) => dense(&operand.dims, values),
            Content::Sparse(coords, values) => Tensor::Sparse(Coo {
                dims: operand.dims,
                coords,
                values,
            }),
        };
        outputs.results.insert(id, Expected { tensor, tolerance });
    }
    Ok(outputs)
}

struct Judge<'f> {
    function: &'f Function,
    inputs: &'f Inputs,
    operands: BTreeMap<TensorId, Operand>,
    /// For each stored element of a computed tensor, how far a kernel may be off.
    error: BTreeMap<TensorId, Vec<f64>>,
}

/// What is known at a place of an enumeration.
struct Env {
    vars: Vec<i64>,
    /// The stored element that each driven access stands at.
    standing: Vec<Option<usize>>,
    /// The variables that outer steps have set.
    set: BTreeSet<VarId>,
    /// Drivers whose presence means that the coordinate was visited before.
    before: Vec<Driver>,
}

/// A reduction's values over the variables of the left side that it uses.
struct Table {
    vars: Vec<VarId>,
    extents: Vec<(i64, i64)>,
    entries: Entries,
    op: ReduceOp,
    ty: ScalarType,
    neutral: Number,
    /// The rounding of where a kernel may gather it.
    coarse: f64,
}

enum Entries {
    All(Vec<Option<Partial>>),
    Some(BTreeMap<u128, Partial>),
}

/// Tables up to this many elements are kept whole.
const WHOLE: u128 = 1 << 25;

impl Table {
    fn key(&self, vars: &[i64]) -> Option<u128> {
        let mut key = 0u128;
        for (var, (lo, hi)) in self.vars.iter().zip(&self.extents) {
            let at = vars[var.index()];
            if at < *lo || at >= *hi {
                return None;
            }
            key = key * u128::from((hi - lo).unsigned_abs()) + u128::from((at - lo).unsigned_abs());
        }
        Some(key)
    }

    fn get(&self, vars: &[i64]) -> Option<Partial> {
        let key = self.key(vars)?;
        match &self.entries {
            Entries::All(list) => list.get(usize::try_from(key).ok()?).copied().flatten(),
            Entries::Some(map) => map.get(&key).copied(),
        }
    }

    fn entry(&mut self, vars: &[i64]) -> Option<&mut Partial> {
        let key = self.key(vars)?;
        let fresh = Partial::new(self.neutral);
        match &mut self.entries {
            Entries::All(list) => {
                let slot = list.get_mut(usize::try_from(key).ok()?)?;
                Some(slot.get_or_insert(fresh))
            }
            Entries::Some(map) => Some(map.entry(key).or_insert(fresh)),
        }
    }
}

/// Leaves at a known coordinate.
struct At<'a, 'f> {
    judge: &'a Judge<'f>,
    env: &'a Env,
    tables: &'a [Table],
    /// The rounding of where a kernel may gather sums.
    coarse: f64,
}

impl Leaves for At<'_, '_> {
    type Error = EvalError;

    fn access(&mut self, node: &Node, id: usize) -> Result<Value, EvalError> {
        let Kind::Access {
            tensor, subscripts, ..
        } = &node.kind
        else {
            return Ok(Value::UNKNOWN);
        };
        let operand = self.judge.operand(*tensor)?;
        let ty = node.ty;
        if let Some(at) = self.env.standing.get(id).copied().flatten() {
            return Ok(self.element(*tensor, operand, at, ty));
        }
        let mut coordinate = [0u64; 16];
        let mut long;
        let slots: &mut [u64] = if subscripts.len() <= 16 {
            &mut coordinate[..subscripts.len()]
        } else {
            long = vec![0u64; subscripts.len()];
            &mut long
        };
        for (mode, s) in subscripts.iter().enumerate() {
            let value = match s.kind {
                Kind::Index(var) => i128::from(self.env.vars[var.index()]),
                Kind::Literal(_)
                | Kind::Size(_)
                | Kind::Access { .. }
                | Kind::Table(_)
                | Kind::Unary(..)
                | Kind::Binary(..)
                | Kind::Select(..)
                | Kind::Call(..)
                | Kind::Cast(_) => eval(s, self)?.known.map_or(0, |b| b.number.int()),
            };
            let extent = operand.dims[mode];
            match u64::try_from(value) {
                Ok(c) if c < extent => slots[mode] = c,
                _ => {
                    return Err(EvalError::OutOfRange {
                        tensor: operand.name.clone(),
                        value,
                        extent,
                    });
                }
            }
        }
        if operand.sparse {
            return Ok(match operand.find(slots) {
                Some(at) => self.element(*tensor, operand, at, ty),
                None => Value::exact(convert(operand.fill, ty)),
            });
        }
        let at = operand.linear(slots);
        Ok(self.element(*tensor, operand, at, ty))
    }

    fn index(&mut self, var: VarId) -> Value {
        Value::plain(Bounded::read(Number::Int(i128::from(
            self.env.vars[var.index()],
        ))))
    }

    fn table(&mut self, at: usize) -> Value {
        let table = &self.tables[at];
        match table.get(&self.env.vars) {
            Some(entry) => Value {
                known: Some(entry.finish(table.op, table.ty, table.coarse)),
                exact: false,
                sums: entry.terms,
            },
            None => Value::exact(table.neutral),
        }
    }

    fn coarse(&self) -> f64 {
        self.coarse
    }
}

impl At<'_, '_> {
    /// A stored element, with the bound that it was computed with.
    fn element(&self, tensor: TensorId, operand: &Operand, at: usize, ty: ScalarType) -> Value {
        let errors = self.judge.error.get(&tensor);
        let error = errors.and_then(|list| list.get(at)).copied().unwrap_or(0.0);
        Value::plain(Bounded {
            number: wrap(operand.stored_value(at), ty),
            error,
        })
    }
}

impl<'f> Judge<'f> {
    fn operand(&self, id: TensorId) -> Result<&Operand, EvalError> {
        self.operands
            .get(&id)
            .ok_or_else(|| EvalError::Missing(self.function.tensor(id).name.clone()))
    }

    fn dims(&self, id: TensorId) -> Result<Vec<u64>, EvalError> {
        let mut dims = Vec::new();
        for d in &self.function.tensor(id).dims {
            dims.push(u64::try_from(eval_size(d, self.inputs)?).unwrap_or(0));
        }
        Ok(dims)
    }

    fn load(&mut self) -> Result<(), EvalError> {
        for (at, tensor) in self.function.tensors.iter().enumerate() {
            let id = TensorId(u32::try_from(at).unwrap_or(u32::MAX));
            if !matches!(tensor.role, Role::Input | Role::InOut) {
                continue;
            }
            let data = self
                .inputs
                .tensors
                .get(&id)
                .ok_or_else(|| EvalError::Missing(tensor.name.clone()))?;
            let operand = Operand::new(tensor, data, self.dims(id)?)?;
            self.operands.insert(id, operand);
        }
        Ok(())
    }

    fn env(&self, accesses: usize) -> Env {
        Env {
            vars: vec![0; self.function.vars.len()],
            standing: vec![None; accesses],
            set: BTreeSet::new(),
            before: Vec::new(),
        }
    }

    fn statement(&mut self, stmt: &Statement) -> Result<(), EvalError> {
        let mut translator = Translator::new(self.inputs);
        let rhs = translator.node(&stmt.rhs)?;
        let accesses = translator.accesses;
        let mut tables = Vec::new();
        for reduction in &translator.reductions {
            tables.push(self.reduction(stmt, reduction)?);
        }
        let computed = self.assign(stmt, &rhs, accesses, &tables)?;
        self.store(stmt, computed)
    }

    /// Fills the table of one reduction.
    fn reduction(&self, stmt: &Statement, reduction: &Reduction) -> Result<Table, EvalError> {
        let mut translator = Translator::new(self.inputs);
        let body = translator.node(&reduction.body)?;
        let mut inner = Vec::new();
        for nested in &translator.reductions {
            inner.push(self.reduction(stmt, nested)?);
        }
        let used = variables(&reduction.body, self.function);
        let left: Vec<VarId> = stmt
            .vars
            .iter()
            .copied()
            .filter(|v| used.contains(v) && !reduction.vars.contains(v))
            .collect();
        let vars: Vec<VarId> = stmt
            .vars
            .iter()
            .copied()
            .filter(|v| left.contains(v) || reduction.vars.contains(v))
            .collect();
        let neutral = literal(reduction.op.neutral(reduction.ty));
        let neutral = convert(neutral, reduction.ty);
        let mut table = self.table(&left, stmt, reduction, neutral)?;
        let mut env = self.env(translator.accesses);
        let plan = self.plan(&body, &vars, neutral);
        let (op, ty) = (reduction.op, reduction.ty);
        self.visit(&plan, &mut env, &mut |env| {
            let mut at = At {
                judge: self,
                env,
                tables: &inner,
                coarse: table.coarse,
            };
            let value = eval(&body, &mut at)?;
            if let Some(term) = value.known
                && let Some(entry) = table.entry(&env.vars)
            {
                entry.add(op, term, ty, value.sums);
            }
            Ok(())
        })?;
        Ok(table)
    }

    fn table(
        &self,
        vars: &[VarId],
        stmt: &Statement,
        reduction: &Reduction,
        neutral: Number,
    ) -> Result<Table, EvalError> {
        let mut extents = Vec::new();
        let mut count = 1u128;
        for &var in vars {
            let (lo, hi) = self.static_range(var)?;
            let hi = hi.max(lo);
            count = count.saturating_mul(u128::from((hi - lo).unsigned_abs()));
            extents.push((lo, hi));
        }
        let entries = match usize::try_from(count) {
            Ok(count) if (count as u128) <= WHOLE => Entries::All(vec![None; count]),
            _ => Entries::Some(BTreeMap::new()),
        };
        Ok(Table {
            vars: vars.to_vec(),
            extents,
            entries,
            op: reduction.op,
            ty: reduction.ty,
            neutral,
            coarse: epsilon(self.function.tensor(stmt.tensor).ty),
        })
    }

    /// The range of a variable, if it is static; everything otherwise.
    fn static_range(&self, var: VarId) -> Result<(i64, i64), EvalError> {
        let range = &self.function.var(var).range;
        let side = |bound: &Bound, other: i64| match bound {
            Bound::Static(e) => eval_size(e, self.inputs),
            Bound::Dynamic(_) => Ok(other),
        };
        Ok((side(&range.lo, 0)?, side(&range.hi, i64::from(i32::MAX))?))
    }

    fn plan(&self, body: &Node, vars: &[VarId], neutral: Number) -> Plan {
        let mut sparse: BTreeMap<usize, Number> = BTreeMap::new();
        walk(body, &mut |node| {
            if let Kind::Access { id, tensor, .. } = &node.kind
                && let Some(operand) = self.operands.get(tensor)
                && operand.sparse
            {
                sparse.insert(*id, convert(operand.fill, node.ty));
            }
        });
        let stored = |node: &Node| match &node.kind {
            Kind::Access { tensor, .. } => {
                let operand = self.operands.get(tensor)?;
                operand.sparse.then(|| operand.stored())
            }
            Kind::Literal(_)
            | Kind::Size(_)
            | Kind::Index(_)
            | Kind::Table(_)
            | Kind::Unary(..)
            | Kind::Binary(..)
            | Kind::Select(..)
            | Kind::Call(..)
            | Kind::Cast(_) => None,
        };
        let planner = Planner {
            body,
            drivers: drivers(body, &stored),
            fills: &|id| sparse.get(&id).copied(),
            neutral,
            outer: &|var| self.outer(var),
        };
        planner.plan(vars, &BTreeSet::new(), &BTreeSet::new())
    }

    /// The variables that a range depends on.
    fn outer(&self, var: VarId) -> Vec<VarId> {
        let range = &self.function.var(var).range;
        [&range.lo, &range.hi]
            .into_iter()
            .flat_map(|bound| match bound {
                Bound::Static(_) => Vec::new(),
                Bound::Dynamic(e) => variables(e, self.function).into_iter().collect(),
            })
            .collect()
    }

    fn range(&self, var: VarId, env: &Env) -> Result<(i64, i64), EvalError> {
        let range = &self.function.var(var).range;
        Ok((self.bound(&range.lo, env)?, self.bound(&range.hi, env)?))
    }

    fn bound(&self, bound: &Bound, env: &Env) -> Result<i64, EvalError> {
        let e = match bound {
            Bound::Static(e) => return eval_size(e, self.inputs),
            Bound::Dynamic(e) => e,
        };
        let mut translator = Translator::new(self.inputs);
        let node = translator.node(e)?;
        let known = Env {
            vars: env.vars.clone(),
            standing: vec![None; translator.accesses],
            set: BTreeSet::new(),
            before: Vec::new(),
        };
        let mut at = At {
            judge: self,
            env: &known,
            tables: &[],
            coarse: 0.0,
        };
        let value = eval(&node, &mut at)?;
        let value = value.known.map_or(0, |b| b.number.int());
        Ok(i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX }))
    }

    fn visit(
        &self,
        plan: &Plan,
        env: &mut Env,
        f: &mut dyn FnMut(&mut Env) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        match plan {
            Plan::Nothing => Ok(()),
            Plan::Leaf => {
                for driver in &env.before {
                    let operand = self.operand(driver.tensor)?;
                    let coordinate: Vec<u64> = driver
                        .vars
                        .iter()
                        .map(|v| u64::try_from(env.vars[v.index()]).unwrap_or(u64::MAX))
                        .collect();
                    let inside = coordinate.iter().zip(&operand.dims).all(|(c, d)| c < d);
                    if inside && operand.find(&coordinate).is_some() {
                        return Ok(());
                    }
                }
                f(env)
            }
            Plan::Loop(var, next) => {
                let (lo, hi) = self.range(*var, env)?;
                env.set.insert(*var);
                for v in lo..hi {
                    env.vars[var.index()] = v;
                    self.visit(next, env, f)?;
                }
                env.set.remove(var);
                Ok(())
            }
            Plan::Walk(steps) => {
                let before = env.before.len();
                for (driver, next) in steps {
                    self.walk(driver, next, env, f)?;
                    env.before.push(driver.clone());
                }
                env.before.truncate(before);
                Ok(())
            }
        }
    }

    /// The stored elements of one driver that agree with what is known.
    fn walk(
        &self,
        driver: &Driver,
        next: &Plan,
        env: &mut Env,
        f: &mut dyn FnMut(&mut Env) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let operand = self.operand(driver.tensor)?;
        // Which variables are known is a property of the plan: those that an outer step
        // has set. The driver's own are set below, so they are told by the mask.
        let known = env.known(driver);
        let mut mask = 0u32;
        let mut coordinate = vec![0u64; driver.vars.len()];
        for (mode, var) in driver.vars.iter().enumerate() {
            if known.contains(var) {
                mask |= 1 << mode;
                match u64::try_from(env.vars[var.index()]) {
                    Ok(c) if c < operand.dims[mode] => coordinate[mode] = c,
                    _ => return Ok(()),
                }
            }
        }
        let all: Box<dyn Iterator<Item = usize>> = if mask == 0 {
            Box::new(0..operand.stored())
        } else {
            Box::new(operand.matching(mask, &coordinate))
        };
        env.set.extend(&driver.vars);
        let mut result = Ok(());
        'elements: for element in all {
            let mut set: Vec<VarId> = Vec::new();
            for (mode, &var) in driver.vars.iter().enumerate() {
                if mask & (1 << mode) != 0 {
                    continue;
                }
                let c = i64::try_from(operand.coordinate(mode, element)).unwrap_or(i64::MAX);
                if set.contains(&var) {
                    if env.vars[var.index()] != c {
                        continue 'elements;
                    }
                    continue;
                }
                env.vars[var.index()] = c;
                set.push(var);
            }
            let mut inside = true;
            for &var in &set {
                let (lo, hi) = self.range(var, env)?;
                inside &= (lo..hi).contains(&env.vars[var.index()]);
            }
            if !inside {
                continue;
            }
            env.standing[driver.id] = Some(element);
            result = self.visit(next, env, f);
            if result.is_err() {
                break;
            }
        }
        env.standing[driver.id] = None;
        for var in driver.vars.iter().filter(|v| !known.contains(v)) {
            env.set.remove(var);
        }
        result
    }

    /// The elements of the left side that the statement writes.
    fn assign(
        &self,
        stmt: &Statement,
        rhs: &Node,
        accesses: usize,
        tables: &[Table],
    ) -> Result<Vec<Element>, EvalError> {
        let tensor = self.function.tensor(stmt.tensor);
        let ty = tensor.ty;
        let mut out = Vec::new();
        let sparse = tensor.is_sparse();
        let fill = convert(literal(tensor.fill), ty);
        let plan = if sparse {
            self.sparse_plan(stmt, rhs, tables, fill)
        } else {
            None
        };
        let mut env = self.env(accesses);
        let mut seen: BTreeSet<Vec<u64>> = BTreeSet::new();
        let mut write = |env: &mut Env| -> Result<(), EvalError> {
            let coordinate: Vec<u64> = stmt
                .lhs
                .iter()
                .map(|v| u64::try_from(env.vars[v.index()]).unwrap_or(u64::MAX))
                .collect();
            if sparse && !seen.insert(coordinate.clone()) {
                return Ok(());
            }
            let mut at = At {
                judge: self,
                env,
                tables,
                coarse: epsilon(ty),
            };
            let value = eval(rhs, &mut at)?;
            let Some(known) = value.known else {
                return Ok(());
            };
            if sparse && value.is_exactly(|n| n.complex() == fill.complex()) {
                return Ok(());
            }
            out.push(Element {
                coordinate,
                known,
                sums: value.sums,
            });
            Ok(())
        };
        match plan {
            Some(Keys(keys)) => {
                for key in keys {
                    for (var, c) in stmt.lhs.iter().zip(&key) {
                        env.vars[var.index()] = i64::try_from(*c).unwrap_or(i64::MAX);
                    }
                    write(&mut env)?;
                }
            }
            None => {
                let all = stmt
                    .lhs
                    .iter()
                    .rev()
                    .fold(Plan::Leaf, |next, &var| Plan::Loop(var, Box::new(next)));
                self.visit(&all, &mut env, &mut write)?;
            }
        }
        Ok(out)
    }

    /// The coordinates at which a sparse result may differ from its fill.
    fn sparse_plan(
        &self,
        stmt: &Statement,
        rhs: &Node,
        tables: &[Table],
        fill: Number,
    ) -> Option<Keys> {
        // With every sparse operand absent and every sum untouched, nothing but the
        // fill may be left; then the coordinates of all of them are enough.
        let mut ids = BTreeSet::new();
        let mut keys: BTreeSet<Vec<u64>> = BTreeSet::new();
        let mut walkable = true;
        walk(rhs, &mut |node| {
            if let Kind::Access {
                id,
                tensor,
                subscripts,
            } = &node.kind
            {
                let Some(operand) = self.operands.get(tensor).filter(|o| o.sparse) else {
                    return;
                };
                ids.insert(*id);
                let modes: Option<Vec<usize>> = stmt
                    .lhs
                    .iter()
                    .map(|var| {
                        subscripts
                            .iter()
                            .position(|s| matches!(s.kind, Kind::Index(v) if v == *var))
                    })
                    .collect();
                match modes {
                    Some(modes) => {
                        for element in 0..operand.stored() {
                            keys.insert(
                                modes
                                    .iter()
                                    .map(|&m| operand.coordinate(m, element))
                                    .collect(),
                            );
                        }
                    }
                    None => walkable = false,
                }
            }
        });
        for table in tables {
            if table.vars != stmt.lhs {
                walkable = false;
                continue;
            }
            table.touched(&mut |coordinate| {
                keys.insert(coordinate);
            });
        }
        let mut leaves = Untouched {
            judge: self,
            ids: &ids,
            tables,
        };
        let rest = eval(rhs, &mut leaves).ok()?;
        let covered = rest.is_exactly(|n| n.complex() == fill.complex());
        let inside = |key: &Vec<u64>| {
            stmt.lhs.iter().zip(key).all(|(var, c)| {
                self.static_range(*var)
                    .is_ok_and(|(lo, hi)| i64::try_from(*c).is_ok_and(|c| (lo..hi).contains(&c)))
            })
        };
        (covered && walkable).then(|| Keys(keys.into_iter().filter(|k| inside(k)).collect()))
    }

    fn store(&mut self, stmt: &Statement, computed: Vec<Element>) -> Result<(), EvalError> {
        let tensor = self.function.tensor(stmt.tensor);
        let dims = self.dims(stmt.tensor)?;
        let ty = tensor.ty;
        let fill = literal(tensor.fill);
        if tensor.is_sparse() {
            let mut coo = Coo {
                coords: vec![Vec::new(); dims.len()],
                dims: dims.clone(),
                values: Values::filled(ty, 0, fill),
            };
            let mut computed = computed;
            computed.sort_by(|a, b| a.coordinate.cmp(&b.coordinate));
            let mut errors = Vec::new();
            for element in computed {
                for (column, c) in coo.coords.iter_mut().zip(element.coordinate) {
                    column.push(c);
                }
                let kept = stored(element.known, ty);
                coo.values.push(kept.number);
                errors.push(kept.error);
            }
            let operand = Operand::new(tensor, &Tensor::Sparse(coo), dims)?;
            self.operands.insert(stmt.tensor, operand);
            self.error.insert(stmt.tensor, errors);
            return Ok(());
        }
        let operand = match self.operands.entry(stmt.tensor) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let empty = Tensor::Sparse(Coo {
                    coords: vec![Vec::new(); dims.len()],
                    dims: dims.clone(),
                    values: Values::filled(ty, 0, fill),
                });
                entry.insert(Operand::new(tensor, &empty, dims)?)
            }
        };
        let errors = self.error.entry(stmt.tensor).or_default();
        errors.resize(operand.stored(), 0.0);
        for element in computed {
            let at = operand.linear(&element.coordinate);
            let Content::Dense(values) = &mut operand.content else {
                continue;
            };
            if at >= values.len() {
                continue;
            }
            let compute = ty.compute();
            let new = match stmt.op {
                None => element.known,
                Some(op) => {
                    let old = Bounded {
                        number: wrap(values.get(at), compute),
                        error: errors[at],
                    };
                    combine(op, old, element.known, compute, element.sums, epsilon(ty))
                }
            };
            let kept = stored(new, ty);
            errors[at] = kept.error;
            values.set(at, kept.number);
        }
        Ok(())
    }
}

/// An element that a statement writes.
struct Element {
    coordinate: Vec<u64>,
    known: Bounded,
    /// How many terms were summed for it.
    sums: f64,
}

/// The coordinates of a sparse result.
struct Keys(Vec<Vec<u64>>);

impl Table {
    fn touched(&self, f: &mut dyn FnMut(Vec<u64>)) {
        let mut give = |mut key: u128| {
            let mut coordinate = vec![0u64; self.extents.len()];
            for (c, (lo, hi)) in coordinate.iter_mut().zip(&self.extents).rev() {
                let extent = u128::from((hi - lo).unsigned_abs()).max(1);
                *c = u64::try_from(key % extent).unwrap_or(0) + lo.unsigned_abs();
                key /= extent;
            }
            f(coordinate);
        };
        match &self.entries {
            Entries::All(list) => {
                for (key, entry) in list.iter().enumerate() {
                    if entry.is_some() {
                        give(key as u128);
                    }
                }
            }
            Entries::Some(map) => map.keys().for_each(|key| give(*key)),
        }
    }
}

/// Everything sparse is absent and every reduction empty.
struct Untouched<'a, 'f> {
    judge: &'a Judge<'f>,
    ids: &'a BTreeSet<usize>,
    tables: &'a [Table],
}

impl Leaves for Untouched<'_, '_> {
    type Error = EvalError;

    fn access(&mut self, node: &Node, id: usize) -> Result<Value, EvalError> {
        Ok(match &node.kind {
            Kind::Access { tensor, .. } if self.ids.contains(&id) => {
                Value::exact(convert(self.judge.operand(*tensor)?.fill, node.ty))
            }
            Kind::Access { .. }
            | Kind::Literal(_)
            | Kind::Size(_)
            | Kind::Index(_)
            | Kind::Table(_)
            | Kind::Unary(..)
            | Kind::Binary(..)
            | Kind::Select(..)
            | Kind::Call(..)
            | Kind::Cast(_) => Value::UNKNOWN,
        })
    }

    fn index(&mut self, _: VarId) -> Value {
        Value::UNKNOWN
    }

    fn table(&mut self, at: usize) -> Value {
        Value::exact(self.tables[at].neutral)
    }
}

impl Env {
    /// The variables of a driver that outer steps have set.
    fn known(&self, driver: &Driver) -> Vec<VarId> {
        driver
            .vars
            .iter()
            .copied()
            .filter(|v| self.set.contains(v))
            .collect()
    }
}

/// All variables of an expression.
fn variables(e: &Expr, function: &Function) -> BTreeSet<VarId> {
    let mut found = BTreeSet::new();
    collect(e, &mut found);
    // A dynamic range makes the variables of its bounds matter.
    loop {
        let before = found.len();
        for var in found.clone() {
            let range = &function.var(var).range;
            for bound in [&range.lo, &range.hi] {
                if let Bound::Dynamic(e) = bound {
                    collect(e, &mut found);
                }
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

fn collect(e: &Expr, found: &mut BTreeSet<VarId>) {
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Size(_) => {}
        ExprKind::Index(var) => {
            found.insert(*var);
        }
        ExprKind::Access(access) => access.subscripts.iter().for_each(|s| collect(s, found)),
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => collect(a, found),
        ExprKind::Binary(_, a, b) => {
            collect(a, found);
            collect(b, found);
        }
        ExprKind::Select(c, a, b) => {
            collect(c, found);
            collect(a, found);
            collect(b, found);
        }
        ExprKind::Call(_, args) => args.iter().for_each(|a| collect(a, found)),
        ExprKind::Reduce { vars, body, .. } => {
            found.extend(vars);
            collect(body, found);
        }
    }
}
