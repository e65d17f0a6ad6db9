//! Statements, one after another.

use super::exact::eval;
use super::leaves::At;
use super::load::{Content, Operand, dense};
use super::node::{Reduction, Translator, eval_size};
use super::partial::neutral;
use super::table::Table;
use super::visit::Env;
use super::{EvalError, Expected, Inputs, Outputs};
use crate::data::{Coo, Tensor};
use crate::program::ir::{Bound, Expr, ExprKind, Function, Role, Statement, TensorId, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// Evaluates a function.
///
/// # Errors
/// Data that leads outside a tensor, or does not fit.
pub fn evaluate(function: &Function, inputs: &Inputs) -> Result<Outputs, EvalError> {
    judged(function, inputs, false)
}

/// As [`evaluate`]; a `strict` judge asks what kernels ask before they compute.
pub(super) fn judged(
    function: &Function,
    inputs: &Inputs,
    strict: bool,
) -> Result<Outputs, EvalError> {
    let mut judge = Judge {
        function,
        inputs,
        operands: BTreeMap::new(),
        error: BTreeMap::new(),
        strict,
    };
    judge.load()?;
    for stmt in &function.stmts {
        if strict {
            judge.check_ranges(stmt)?;
        }
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

pub(super) struct Judge<'f> {
    pub function: &'f Function,
    pub inputs: &'f Inputs,
    pub operands: BTreeMap<TensorId, Operand>,
    /// For each stored element of a computed tensor, how far a kernel may be off.
    pub error: BTreeMap<TensorId, Vec<f64>>,
    /// It asks what kernels ask before they compute: of whole ranges, and what subscripts divide by.
    pub strict: bool,
}

impl<'f> Judge<'f> {
    pub(super) fn operand(&self, id: TensorId) -> Result<&Operand, EvalError> {
        self.operands
            .get(&id)
            .ok_or_else(|| EvalError::Missing(self.function.tensor(id).name.clone()))
    }

    pub(super) fn dims(&self, id: TensorId) -> Result<Vec<u64>, EvalError> {
        let mut dims = Vec::new();
        for d in &self.function.tensor(id).dims {
            dims.push(u64::try_from(eval_size(d, self.inputs)?).unwrap_or(0));
        }
        Ok(dims)
    }

    pub(super) fn load(&mut self) -> Result<(), EvalError> {
        for (at, tensor) in self.function.tensors.iter().enumerate() {
            let id = TensorId::at(at);
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

    pub(super) fn env(&self, accesses: usize) -> Env {
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
            tables.push(self.reduction(stmt, reduction, self.scatters(stmt))?);
        }
        let computed = self.assign(stmt, &rhs, accesses, &tables)?;
        self.store(stmt, computed)
    }

    /// Whether summed variables tell which elements the statement writes.
    pub(super) fn scatters(&self, stmt: &Statement) -> bool {
        stmt.lhs.iter().any(|&var| {
            let range = &self.function.var(var).range;
            let mut used = BTreeSet::new();
            for bound in [&range.lo, &range.hi] {
                if let Bound::Dynamic(e) = bound {
                    used.extend(variables(e, self.function));
                }
            }
            used.iter().any(|v| !stmt.lhs.contains(v))
        })
    }

    /// Fills the table of one reduction. If it `scatters`, it has an element for each of the left
    /// side that a term goes to.
    fn reduction(
        &self,
        stmt: &Statement,
        reduction: &Reduction,
        scatters: bool,
    ) -> Result<Table, EvalError> {
        let mut translator = Translator::new(self.inputs);
        let body = translator.node(&reduction.body)?;
        let mut inner = Vec::new();
        for nested in &translator.reductions {
            inner.push(self.reduction(stmt, nested, false)?);
        }
        let mut used = variables(&reduction.body, self.function);
        if scatters {
            used.extend(&stmt.lhs);
        }
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
        let neutral = neutral(reduction.op, reduction.ty);
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

    /// The range of a variable, if it is static; everything otherwise.
    pub(super) fn static_range(&self, var: VarId) -> Result<(i64, i64), EvalError> {
        let range = &self.function.var(var).range;
        let side = |bound: &Bound, other: i64| match bound {
            Bound::Static(e) => eval_size(e, self.inputs),
            Bound::Dynamic(_) => Ok(other),
        };
        Ok((side(&range.lo, 0)?, side(&range.hi, i64::from(i32::MAX))?))
    }
}

/// All variables of an expression.
pub(super) fn variables(e: &Expr, function: &Function) -> BTreeSet<VarId> {
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
    e.walk(&mut |node| {
        found.extend(node.as_var());
        if let ExprKind::Reduce { vars, .. } = &node.kind {
            found.extend(vars);
        }
    });
}
