//! Visiting the coordinates of a plan.

use super::EvalError;
use super::enumerate::{Driver, Plan, Planner, drivers};
use super::evaluate::{Judge, variables};
use super::exact::eval;
use super::leaves::At;
use super::load::{Modes, only};
use super::node::{Kind, Node, Translator, eval_size, walk};
use super::value::convert;
use crate::data::values::Number;
use crate::program::ir::{Bound, VarId};
use std::collections::{BTreeMap, BTreeSet};

/// What is known at a place of an enumeration.
pub(super) struct Env {
    pub vars: Vec<i64>,
    /// The stored element that each driven access stands at.
    pub standing: Vec<Option<usize>>,
    /// The variables that outer steps have set.
    pub set: BTreeSet<VarId>,
    /// Drivers whose presence means that the coordinate was visited before.
    pub before: Vec<Driver>,
}

impl Env {
    /// The variables of a driver that outer steps have set.
    pub(super) fn known(&self, driver: &Driver) -> Vec<VarId> {
        driver
            .vars
            .iter()
            .copied()
            .filter(|v| self.set.contains(v))
            .collect()
    }
}

impl Judge<'_> {
    pub(super) fn plan(&self, body: &Node, vars: &[VarId], neutral: Number) -> Plan {
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
    pub(super) fn outer(&self, var: VarId) -> Vec<VarId> {
        let range = &self.function.var(var).range;
        [&range.lo, &range.hi]
            .into_iter()
            .flat_map(|bound| match bound {
                Bound::Static(_) => Vec::new(),
                Bound::Dynamic(e) => variables(e, self.function).into_iter().collect(),
            })
            .collect()
    }

    /// The same, and all that those variables' ranges depend on.
    fn all_outer(&self, var: VarId) -> BTreeSet<VarId> {
        let mut found = BTreeSet::new();
        let mut left = self.outer(var);
        while let Some(var) = left.pop() {
            if found.insert(var) {
                left.extend(self.outer(var));
            }
        }
        found
    }

    pub(super) fn range(&self, var: VarId, env: &Env) -> Result<(i64, i64), EvalError> {
        let range = &self.function.var(var).range;
        Ok((self.bound(&range.lo, env)?, self.bound(&range.hi, env)?))
    }

    pub(super) fn bound(&self, bound: &Bound, env: &Env) -> Result<i64, EvalError> {
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

    pub(super) fn visit(
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

    /// Whether these variables have values of their ranges. What one reads may be there only where
    /// the variables are inside that it depends on.
    pub(super) fn are_inside(&self, mut vars: Vec<VarId>, env: &Env) -> Result<bool, EvalError> {
        // What another depends on depends on less itself.
        vars.sort_by_key(|&var| self.all_outer(var).len());
        for var in vars {
            let (lo, hi) = self.range(var, env)?;
            if !(lo..hi).contains(&env.vars[var.index()]) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The stored elements of one driver that agree with what is known.
    pub(super) fn walk(
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
        let mut mask: Modes = 0;
        let mut coordinate = vec![0u64; driver.vars.len()];
        for (mode, var) in driver.vars.iter().enumerate() {
            if known.contains(var) {
                mask |= only(mode);
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
                if mask & only(mode) != 0 {
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
            if !self.are_inside(set, env)? {
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
}
