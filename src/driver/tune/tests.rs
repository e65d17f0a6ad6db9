//! Tuning without a machine: what races and searches do on one that is made up, and what genes become.

mod genes;
mod race;
mod search;

use super::space::Space;
use crate::diagnostic::Sources;
use crate::driver::{Request, Source, compile};
use crate::graph::Graph;
use crate::target::Target;
use std::collections::BTreeMap;
use std::rc::Rc;

const SPMM: &str = "def spmm(double(M,K) A, double(K,N) B) -> (C) { C(i,k) +=! A(i,j) * B(j,k) }\n\
                    format spmm { A: csr }";

fn space(text: &str) -> Space {
    space_for(Target::C, text)
}

fn space_for(target: Target, text: &str) -> Space {
    let request = Request::new(Source::Text {
        name: "f".to_string(),
        text: text.to_string(),
    });
    let compiled = compile(&request, &mut Sources::default()).unwrap();
    let function = &compiled.program.functions[0];
    let graph = Graph::build(&Rc::new(function.clone())).unwrap();
    let vars = function.vars.iter().enumerate();
    let extents: BTreeMap<_, _> = vars
        .map(|(at, _)| (crate::program::ir::VarId(u32::try_from(at).unwrap()), 100))
        .collect();
    Space::new(&graph, target, Vec::new(), &extents)
}
