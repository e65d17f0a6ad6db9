//! The accesses of a nest.

use super::equal::same_access;
use super::relation::Pos;
use super::{Graph, Guard, Stmt, spans};
use crate::level::ArrayRole;
use crate::program::affine;
use crate::program::ir::{self, Access, ExprKind, Role, Tensor, TensorId, VarId};
use crate::scalar::ScalarType;

/// Whether an operand of the caller's has a row for each value of `row`: its positions are known to rise from
/// row to row.
#[must_use]
pub fn has_rows(tensor: &Tensor, access: &Access, row: VarId) -> bool {
    let levels = &tensor.format.levels;
    matches!(tensor.role, Role::Input | Role::InOut)
        && levels.len() > 1
        && levels[0].is_full()
        && levels[1].has(ArrayRole::Positions)
        && access.subscripts[tensor.format.modes[0]].as_var() == Some(row)
}

/// Whether data or a condition decide that a subscript stays inside its tensor, so that it is checked.
#[must_use]
pub fn is_checked(graph: &Graph, tensors: &[Tensor], subscript: &ir::Expr) -> bool {
    let reads = |access: &Access| !tensors[access.tensor.index()].dims.is_empty();
    let ranges = |var: ir::VarId| graph.static_range(var).is_none();
    let checked = subscript.accesses().into_iter().any(reads)
        || super::order::vars_in(subscript).into_iter().any(ranges);
    let param = |id: TensorId| size_param(&tensors[id.index()]);
    checked || affine(subscript, &param).is_none()
}

/// Whether the coordinate of an operand's level may be none that the level has, so that there may be no position to
/// compute from it: only a condition of the program keeps it in bounds, or data decide and the operand is read on a
/// condition.
#[must_use]
pub fn may_lie_outside(graph: &Graph, tensors: &[Tensor], entry: &Entry, level: usize) -> bool {
    let tensor = &tensors[entry.access.tensor.index()];
    let mode = tensor.format.modes[level];
    let subscript = &entry.access.subscripts[mode];
    if graph.is_conditional(entry.access.tensor) {
        return !spans::lies_in(graph, subscript, &tensor.dims[mode]);
    }
    entry.guarded && is_checked(graph, tensors, subscript)
}

/// The type of a scalar that a subscript may have as a size has it: an integer that nobody writes.
#[must_use]
pub fn size_param(tensor: &Tensor) -> Option<ScalarType> {
    (tensor.role == Role::Input && tensor.ty.is_integer()).then_some(tensor.ty)
}

/// An access of the nest at hand: an index into its [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessId(pub usize);

/// Every access that is read, each once.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub access: Access,
    /// Stands inside a subscript or a bound: it is never walked, only located.
    pub nested: bool,
    /// It is read on a condition wherever it stands, so its subscripts may lie outside of the tensor
    /// where it is not.
    pub guarded: bool,
}

/// Where an access stands.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    nested: bool,
    guarded: bool,
}

impl Place {
    const NESTED: Self = Place {
        nested: true,
        guarded: false,
    };

    fn guarded(self) -> Self {
        Place {
            guarded: true,
            ..self
        }
    }
}

impl Table {
    /// Collects the accesses of a tree, those of the bounds of its loops too.
    #[must_use]
    pub fn of(graph: &Graph, tensors: &[Tensor], stmt: &Stmt) -> Self {
        let mut table = Table::default();
        stmt.visit(&mut |stmt| match stmt {
            Stmt::Forall { var, .. } | Stmt::Within { var, .. } => {
                table.collect_var(graph, tensors, *var);
            }
            Stmt::Guarded { guards, .. } => {
                for e in guards.iter().flat_map(Guard::reads) {
                    table.add_expr(tensors, e, Place::NESTED);
                }
            }
            Stmt::Assign(assign) => table.add_expr(tensors, &assign.rhs, Place::default()),
            Stmt::Where { .. } | Stmt::Sequence(_) => {}
        });
        table
    }

    /// What a loop over `var` reads itself: the bounds of its roots, and the access
    /// whose positions it counts.
    fn collect_var(&mut self, graph: &Graph, tensors: &[Tensor], var: ir::VarId) {
        for root in graph.provenance.roots(var) {
            let range = &graph.var(root).range;
            for e in range.reads() {
                self.add_expr(tensors, e, Place::NESTED);
            }
        }
        if let Some(Pos { access, .. }) = graph.provenance.position_of(var)
            && !tensors[access.tensor.index()].dims.is_empty()
        {
            self.add(access, Place::default());
        }
    }

    fn add_expr(&mut self, tensors: &[Tensor], e: &ir::Expr, place: Place) {
        let mut place = place;
        if let ExprKind::Access(access) = &e.kind {
            if !tensors[access.tensor.index()].dims.is_empty() {
                self.add(access, place);
            }
            place.nested = true;
        }
        for (part, condition) in e.parts_under() {
            let place = condition.map_or(place, |_| place.guarded());
            self.add_expr(tensors, part, place);
        }
    }

    fn add(&mut self, access: &Access, Place { nested, guarded }: Place) {
        match self.find(access) {
            // Once inside a subscript, an access must be locatable at any time.
            Some(id) => {
                let entry = &mut self.entries[id.0];
                entry.nested |= nested;
                entry.guarded &= guarded;
            }
            None => self.entries.push(Entry {
                access: access.clone(),
                nested,
                guarded,
            }),
        }
    }

    /// The access's id, if it is of this nest.
    #[must_use]
    pub fn find(&self, access: &Access) -> Option<AccessId> {
        self.entries
            .iter()
            .position(|e| same_access(&e.access, access))
            .map(AccessId)
    }

    #[must_use]
    pub fn get(&self, id: AccessId) -> &Entry {
        &self.entries[id.0]
    }

    /// The accesses of an expression in value position and, with `nested`, those
    /// inside subscripts.
    #[must_use]
    pub fn in_expr(&self, e: &ir::Expr, nested: bool) -> Vec<AccessId> {
        let mut found = Vec::new();
        let mut note = |access: &Access| {
            if let Some(id) = self.find(access)
                && !found.contains(&id)
            {
                found.push(id);
            }
        };
        if nested {
            e.accesses().into_iter().for_each(note);
        } else {
            value_accesses(e, &mut note);
        }
        found
    }

    /// The accesses that a tree reads, in order of appearance; with `nested` those
    /// of subscripts and bounds too.
    #[must_use]
    pub fn in_stmt(&self, graph: &Graph, stmt: &Stmt, nested: bool) -> Vec<AccessId> {
        let mut found = Vec::new();
        self.walk(graph, stmt, (nested, true), &mut found);
        found
    }

    /// Those that are read wherever the tree is done, also of subscripts and bounds: not what is read behind guards.
    #[must_use]
    pub fn unguarded(&self, graph: &Graph, stmt: &Stmt) -> Vec<AccessId> {
        let mut found = Vec::new();
        self.walk(graph, stmt, (true, false), &mut found);
        found
    }

    fn walk(
        &self,
        graph: &Graph,
        stmt: &Stmt,
        (nested, guarded): (bool, bool),
        found: &mut Vec<AccessId>,
    ) {
        let mut extend = |ids: Vec<AccessId>| {
            for id in ids {
                if !found.contains(&id) {
                    found.push(id);
                }
            }
        };
        match stmt {
            Stmt::Forall { var, .. } | Stmt::Within { var, .. } if nested => {
                for root in graph.provenance.roots(*var) {
                    let range = &graph.var(root).range;
                    for e in range.reads() {
                        extend(self.in_expr(e, true));
                    }
                }
                if let Some(Pos { access, .. }) = graph.provenance.position_of(*var) {
                    extend(self.find(access).into_iter().collect());
                }
            }
            Stmt::Guarded { guards, .. } if nested => {
                for e in guards.iter().flat_map(Guard::reads) {
                    extend(self.in_expr(e, true));
                }
            }
            Stmt::Assign(assign) => extend(self.in_expr(&assign.rhs, nested)),
            Stmt::Forall { .. }
            | Stmt::Within { .. }
            | Stmt::Guarded { .. }
            | Stmt::Where { .. }
            | Stmt::Sequence(_) => {}
        }
        if matches!(stmt, Stmt::Guarded { .. }) && !guarded {
            return;
        }
        for part in stmt.parts() {
            self.walk(graph, part, (nested, guarded), found);
        }
    }
}

/// Calls `f` on accesses outside subscripts.
fn value_accesses(e: &ir::Expr, f: &mut impl FnMut(&Access)) {
    if let ExprKind::Access(access) = &e.kind {
        f(access);
    }
    for operand in e.operands() {
        value_accesses(operand, f);
    }
}
