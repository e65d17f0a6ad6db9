//! Operators that programs declare, as functions that kernels call.

use super::kernel::{Dialect, Printer};
use super::types::c_type;
use super::{Unit, literal};
use crate::loops::build as b;
use crate::loops::ir::{Interface, Kernel, ScalarType, Var, VarId};
use crate::loops::own;
use crate::operators::Own;
use crate::target::Target;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The C function that combines two numbers of a type.
pub(super) fn function(own: Own, ty: ScalarType) -> String {
    format!("sparsec_op_{}_{ty}", own.name())
}

/// The name of an operator as a value, for the runtime's templates.
pub(super) fn functor(own: Own) -> String {
    format!("sparsec_op_{}", own.name())
}

/// What the kernels of a unit need of operators that the program declares, if they use any.
pub(super) fn definitions(unit: &Unit, target: Target) -> String {
    let used: BTreeSet<(Own, ScalarType)> = unit.all().flat_map(own::uses).collect();
    let shared: BTreeSet<(Own, ScalarType)> = unit.all().flat_map(own::shared).collect();
    let is_cpp = target.properties().is_cpp;
    let mut out = String::new();
    let mut last = None;
    for &(own, ty) in &used {
        if last != Some(own) {
            let _ = writeln!(out, "\n/* {} */", own.text);
        }
        last = Some(own);
        out += &combining(own, ty, is_cpp);
        if shared.contains(&(own, ty)) && !is_cpp {
            out += &declared(own, ty);
        }
    }
    if is_cpp {
        let operators: BTreeSet<Own> = used.iter().map(|(own, _)| *own).collect();
        for own in operators {
            let types = used.iter().filter(|(other, _)| *other == own);
            out += &as_value(own, types.map(|(_, ty)| *ty));
        }
    }
    out
}

fn combining(own: Own, ty: ScalarType, is_cpp: bool) -> String {
    let name = function(own, ty);
    let c = c_type(ty);
    let var = |name: &str| Var {
        name: name.to_string(),
        ty,
        mutable: false,
    };
    let kernel = Kernel {
        name: name.clone(),
        comment: Vec::new(),
        interface: Interface::default(),
        vars: vec![var("x"), var("y")],
        arrays: Vec::new(),
        checks: Vec::new(),
        body: Vec::new(),
        keeping: None,
    };
    let mut printer = Printer::new(&kernel);
    let (x, y) = (VarId(0), VarId(1));
    printer.set_name(x, "x".to_string());
    printer.set_name(y, "y".to_string());
    let of = if is_cpp {
        printer.dialect = Dialect::Device;
        "static SPARSEC_DEVICE inline"
    } else {
        "static inline"
    };
    let value = own::value(own, ty, &b::var(x, ty), &b::var(y, ty));
    let unused: String = [(x, "x"), (y, "y")]
        .into_iter()
        .filter(|(var, _)| !value.reads(*var))
        .map(|(_, name)| format!("    (void){name};\n"))
        .collect();
    let value = printer.expr(&value);
    format!("{of} {c} {name}({c} x, {c} y) {{\n{unused}    return {value};\n}}\n")
}

/// As a reduction of OpenMP.
fn declared(own: Own, ty: ScalarType) -> String {
    let (name, c) = (function(own, ty), c_type(ty));
    let start = literal::text(own.neutral(ty), ty, Dialect::C);
    format!(
        "#ifdef _OPENMP\n#pragma omp declare reduction({name}:{c} : omp_out = {name}(omp_out, omp_in)) \\\n    \
         initializer(omp_priv = {start})\n#endif\n"
    )
}

/// As a value that is called.
fn as_value(own: Own, types: impl Iterator<Item = ScalarType>) -> String {
    let mut out = format!("struct {} {{\n", functor(own));
    for ty in types {
        let (name, c) = (function(own, ty), c_type(ty));
        let _ = writeln!(
            out,
            "    SPARSEC_DEVICE {c} operator()({c} x, {c} y) const {{ return {name}(x, y); }}"
        );
    }
    out + "};\n"
}
