//! Which of each statement's scripts is taken: the first that all stages accept.

use super::settings;
use crate::diagnostic::{Diagnosed, Diagnostic, Sources};
use crate::graph::{Graph, Nest};
use crate::schedule::auto::{self, Statistics};
use crate::schedule::{self, Settings, Target};
use crate::syntax::{self, ast};
use std::collections::{BTreeMap, VecDeque};

/// A script, and the place of its statement among the nests of the graph.
pub(super) type Script = (usize, Offer);

/// A script as the rule writes it and as it is parsed.
#[derive(Clone)]
pub(super) struct Offer {
    written: auto::Script,
    commands: Vec<ast::Command>,
}

/// What became of a script.
pub enum Verdict {
    Taken,
    Refused(Diagnostic),
    /// One before it was taken.
    NotAsked,
}

/// A statement, as the program writes it, and its scripts, best first.
pub struct Considered {
    pub statement: String,
    pub scripts: Vec<(auto::Script, Verdict)>,
}

impl Considered {
    pub(super) fn taken(&self) -> Option<&auto::Script> {
        let mut scripts = self.scripts.iter();
        let taken = scripts.find(|(_, verdict)| matches!(verdict, Verdict::Taken));
        taken.map(|(script, _)| script)
    }
}

/// Chooses for each statement the first of its scripts that is accepted: those of all
/// statements are tried on the graph alone, then all together by all stages, so that the number of
/// times that a program is built does not grow with its statements as long as they are
/// accepted.
pub(super) struct Search<'s> {
    settings: Settings,
    /// Whether all stages accept these commands.
    stages: &'s mut dyn FnMut(&[ast::Command]) -> Diagnosed<()>,
    sources: &'s mut Sources,
    /// What each statement has left to try.
    scripts: Vec<VecDeque<auto::Script>>,
    /// Those that were refused, with the place of their statement, and why.
    tried: Vec<(usize, auto::Script, Diagnostic)>,
    chosen: BTreeMap<usize, Offer>,
}

impl<'s> Search<'s> {
    pub(super) fn new(
        graph: &Graph,
        (target, statistics): (Target, &Statistics),
        sources: &'s mut Sources,
        stages: &'s mut dyn FnMut(&[ast::Command]) -> Diagnosed<()>,
    ) -> Self {
        let scripts = graph.nests.iter().map(|nest| {
            let scripts: Vec<auto::Script> = if target.properties().has_blocks {
                auto::for_gpus(graph, nest, statistics)
            } else {
                auto::for_cpus(graph, nest, statistics).scripts
            };
            scripts.into()
        });
        Search {
            settings: settings(target),
            stages,
            sources,
            scripts: scripts.collect(),
            tried: Vec::new(),
            chosen: BTreeMap::new(),
        }
    }

    /// Returns the graph with what is chosen.
    pub(super) fn run(&mut self, graph: &Graph) -> Graph {
        let mut reached = graph.clone();
        loop {
            let first = self.chosen.is_empty();
            let (offered, with_all) = self.offers(&reached);
            if offered.is_empty() {
                return reached;
            }
            self.accept(&offered);
            // Statements that had their scripts before may stand behind those that got them now.
            if first && self.chosen.len() == offered.len() {
                reached = with_all;
                continue;
            }
            let commands = self.commands(&[]);
            match schedule::apply(graph.clone(), &commands, &self.settings) {
                Ok(next) => reached = next,
                // They were accepted, all together.
                Err(_) => return reached,
            }
        }
    }

    /// Whether the statement has its script. Pieces of one statement may share variables, and
    /// so their loops.
    fn has(&self, reached: &Graph, at: usize) -> bool {
        self.chosen.contains_key(&at) || reached.nests.get(at).is_none_or(is_shared)
    }

    /// The first script that the graph takes, of each statement that has none, and the graph with
    /// all of these.
    fn offers(&mut self, reached: &Graph) -> (Vec<Script>, Graph) {
        let mut reached = reached.clone();
        let mut offered = Vec::new();
        for at in 0..self.scripts.len() {
            if self.has(&reached, at) {
                continue;
            }
            while let Some(written) = self.scripts[at].pop_front() {
                let text = written.commands.join("\n");
                let file = self.sources.add("<automatic schedule>", &text);
                let Ok(commands) = syntax::parse_schedule(file, &text) else {
                    continue;
                };
                let offer = Offer { written, commands };
                match schedule::apply(reached.clone(), &offer.commands, &self.settings) {
                    Ok(next) => {
                        reached = next;
                        offered.push((at, offer));
                        break;
                    }
                    Err(errors) => self.refuse((at, &offer), errors),
                }
            }
        }
        (offered, reached)
    }

    /// Chooses those of `offered` that all stages accept, by halves.
    fn accept(&mut self, offered: &[Script]) {
        let commands = self.commands(offered);
        match (self.stages)(&commands) {
            Ok(()) => self.chosen.extend(offered.iter().cloned()),
            Err(errors) => match offered {
                [] => {}
                [(at, offer)] => self.refuse((*at, offer), errors),
                _ => {
                    let (first, rest) = offered.split_at(offered.len() / 2);
                    self.accept(first);
                    self.accept(rest);
                }
            },
        }
    }

    /// What became of each statement's scripts.
    pub(super) fn considered(&self, graph: &Graph) -> Vec<Considered> {
        let statements = graph.nests.iter().enumerate().map(|(at, nest)| {
            let refused = self.tried.iter().filter(|(of, ..)| *of == at);
            let refused =
                refused.map(|(_, script, why)| (script.clone(), Verdict::Refused(why.clone())));
            let taken = self.chosen.get(&at);
            let taken = taken.map(|offer| (offer.written.clone(), Verdict::Taken));
            let left = self.scripts[at].iter();
            let left = left.map(|script| (script.clone(), Verdict::NotAsked));
            Considered {
                statement: graph.statement(nest).text.clone(),
                scripts: refused.chain(taken).chain(left).collect(),
            }
        });
        statements.collect()
    }

    fn refuse(&mut self, (at, offer): (usize, &Offer), errors: Vec<Diagnostic>) {
        let why = errors.into_iter().next();
        let tried = why.map(|why| (at, offer.written.clone(), why));
        self.tried.extend(tried);
    }

    /// Why the last script of a statement was refused.
    pub(super) fn refused(&self, at: usize) -> Option<&Diagnostic> {
        let mut tried = self.tried.iter().rev();
        tried.find(|(of, ..)| *of == at).map(|(.., why)| why)
    }

    /// What is chosen, and more, in the order of the statements.
    pub(super) fn commands(&self, more: &[Script]) -> Vec<ast::Command> {
        let mut all: BTreeMap<usize, &[ast::Command]> = BTreeMap::new();
        let chosen = self.chosen.iter();
        all.extend(chosen.map(|(at, offer)| (*at, &offer.commands[..])));
        all.extend(more.iter().map(|(at, offer)| (*at, &offer.commands[..])));
        all.into_values().flatten().cloned().collect()
    }
}

fn is_shared(nest: &Nest) -> bool {
    nest.loops.iter().any(|l| l.tag.parallel.is_some())
}
