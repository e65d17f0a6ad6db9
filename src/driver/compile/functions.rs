//! The functions of a program, one after another: which schedule each has, and the kernel that it becomes.

use super::super::auto::{self, Ready};
use super::super::choice::{self, Alternative, Chosen, Setting};
use super::super::schedules::{Schedules, commands_of, declared_names};
use super::super::{Failure, strides, variants};
use super::Request;
use crate::diagnostic::{Diagnostic, Sources};
use crate::graph::Graph;
use crate::loops::ir::Kernel;
use crate::lower::lattice;
use crate::program::{self, ir::Function};
use crate::syntax::ast;
use std::collections::BTreeMap;

/// What functions are compiled with.
pub(super) struct Asked<'a> {
    pub request: &'a Request,
    pub program: (&'a [ast::File], &'a program::Options),
    pub schedules: &'a Schedules,
}

/// What was compiled of a program's functions so far; for its fields see [`super::Compiled`].
#[derive(Default)]
pub(super) struct Done {
    pub graphs: Vec<Graph>,
    pub scripts: Vec<Vec<String>>,
    pub kernels: Vec<Kernel>,
    pub lattices: Vec<Vec<lattice::Report>>,
    pub remarks: Vec<Diagnostic>,
    pub errors: Vec<Diagnostic>,
    /// The names that schedules declare, for those that `defines` sets.
    pub declared: Vec<String>,
    pub constants: BTreeMap<String, i64>,
    pub commands: usize,
    pub is_automatic: bool,
    /// Some function has the size that variants are asked for.
    pub is_varied: bool,
}

impl Done {
    /// Compiles a function with the schedule that it has, or gets. What the program is to blame for goes to the
    /// errors, so that all functions are heard.
    pub fn compile(
        &mut self,
        function: &mut Function,
        asked: &Asked,
        sources: &mut Sources,
    ) -> Result<(), Failure> {
        let Asked {
            request, schedules, ..
        } = *asked;
        let own = schedules.commands(function);
        let data = (request.target, &request.statistics);
        let variants = match &request.variants {
            Some(variants) => variants::commands(function, own, variants, data, sources)?,
            None => None,
        };
        self.is_varied |= variants.is_some();
        let (chosen, ready) = match (variants, own) {
            (Some(commands), _) => (commands, Ready::Nothing),
            (None, Some(commands)) => (commands.to_vec(), Ready::Nothing),
            (None, None) => auto::schedule(function, data, sources, &mut self.remarks),
        };
        self.is_automatic |= own.is_none() && !chosen.is_empty();
        let (files, target) = (asked.program.0, request.target);
        let of_program = |name: &str| commands_of(files, function, name, target);
        let alternatives = match choice::alternatives(&chosen, of_program) {
            Ok(alternatives) => alternatives,
            Err(error) => {
                self.errors.push(error);
                return Ok(());
            }
        };
        if let Some(last) = alternatives.last()
            && own.is_none_or(<[_]>::is_empty)
            && !target.properties().has_blocks
        {
            let mut notes = strides::notes(function, &last.commands, sources);
            self.remarks.append(&mut notes);
        }
        self.note(&alternatives);
        let setting = Setting {
            defines: &request.defines,
            target,
            first_commands: request.first_commands,
            program: asked.program,
        };
        let built = match ready {
            Ready::Chosen(chosen) if request.first_commands.is_none() => Ok(*chosen),
            Ready::Lowered(built) if request.first_commands.is_none() => {
                let ready = (Some(*built), &*sources);
                choice::build_all(function, &alternatives, &setting, ready)
            }
            Ready::Nothing | Ready::Chosen(_) | Ready::Lowered(_) => {
                choice::build_all(function, &alternatives, &setting, (None, sources))
            }
        };
        match built {
            Ok(built) => self.add(function, built),
            Err(mut found) => self.errors.append(&mut found),
        }
        Ok(())
    }

    /// Counts the commands of schedules, and notes the names that they declare.
    fn note(&mut self, alternatives: &[Alternative]) {
        for alternative in alternatives {
            let calls = |c: &&ast::Command| matches!(c, ast::Command::Call { .. });
            let count = alternative.commands.iter().filter(calls).count();
            self.commands = self.commands.max(count);
            for name in declared_names(&alternative.commands) {
                if !self.declared.contains(&name) {
                    self.declared.push(name);
                }
            }
        }
    }

    /// Takes over what a function became.
    fn add(&mut self, function: &mut Function, mut built: Chosen) {
        self.remarks.append(&mut built.remarks);
        self.kernels.push(built.kernel);
        self.lattices.append(&mut built.lattices);
        self.graphs.append(&mut built.graphs);
        self.scripts.push(built.script);
        self.constants.append(&mut built.constants);
        if let Some(specialised) = built.function {
            *function = specialised;
        }
    }
}
