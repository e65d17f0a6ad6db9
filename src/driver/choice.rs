//! `choose`: several schedules of one function, of which the data decide (000, 8.2.1).
//!
//! Each is built as if it were the only one; the kernels become one that asks the conditions in
//! order. What a schedule without `choose` says is one alternative without a condition.

use super::compile::{Built, lowered, placed};
use super::schedules::{declared_names, first};
use crate::diagnostic::codes::schedule as codes;
use crate::diagnostic::{Diagnosed, Diagnostic, Sources, Span};
use crate::graph::Graph;
use crate::loops::choice::{self, Choice, Differs};
use crate::loops::ir::Kernel;
use crate::lower::{conditions, lattice};
use crate::program::{self, ir::Function};
use crate::schedule::constants::{self, Constants};
use crate::schedule::{self, Settings, Target};
use crate::syntax::ast::{self, Arm, Branch, Command};
use std::collections::BTreeMap;

/// One of the schedules of a function.
pub(super) struct Alternative<'c> {
    arm: Option<&'c Arm>,
    pub commands: Vec<Command>,
    /// How many of the commands stand before `choose`: conditions know their constants.
    before: usize,
}

impl Alternative<'_> {
    /// Whether it runs if no condition holds.
    fn is_last(&self) -> bool {
        self.arm.is_none_or(|arm| arm.condition.is_none())
    }
}

/// The schedules that a list of commands holds. `named` gives those that arms name.
///
/// # Errors
/// `choose` where it cannot stand, without `otherwise`, with schedules that there are not.
pub(super) fn alternatives<'c>(
    commands: &'c [Command],
    named: impl Fn(&str) -> Option<Vec<Command>>,
) -> Result<Vec<Alternative<'c>>, Diagnostic> {
    let is_choice = |command: &Command| matches!(command, Command::Choose { .. });
    let Some(at) = commands.iter().position(is_choice) else {
        return Ok(vec![Alternative {
            arm: None,
            commands: commands.to_vec(),
            before: 0,
        }]);
    };
    let Some(Command::Choose { arms, span }) = commands.get(at) else {
        return Ok(Vec::new());
    };
    let refuse = |span, message: &str, help: &str| {
        Diagnostic::error(codes::CHOICE, span, message, "here").with_help(help)
    };
    if let Some(behind) = commands.get(at + 1) {
        let help = "put the command before `choose`, or into each alternative";
        return Err(refuse(behind.span(), "a command behind `choose`", help));
    }
    let mut all = Vec::new();
    for arm in arms {
        let own = match &arm.branch {
            Branch::Commands(own) => own.clone(),
            Branch::Named(name) => named(&name.name).ok_or_else(|| {
                let message = format!("there is no schedule `{}` of this function", name.name);
                let help = "name one as `schedule f for c named NAME { ... }`";
                refuse(name.span, &message, help)
            })?,
        };
        if own.iter().any(is_choice) {
            let help = "join the conditions: `when nnz(A) < 100 && cols(B) > 8: { ... }`";
            return Err(refuse(arm.span, "`choose` inside `choose`", help));
        }
        all.push(Alternative {
            arm: Some(arm),
            commands: [&commands[..at], &own].concat(),
            before: at,
        });
    }
    match arms.split_last() {
        Some((last, others))
            if last.condition.is_none() && others.iter().all(|arm| arm.condition.is_some()) =>
        {
            Ok(all)
        }
        _ => Err(refuse(
            *span,
            "`choose` without `otherwise`",
            "end it with what runs if no condition holds: `otherwise: { ... }`",
        )),
    }
}

/// What all alternatives need.
pub(super) struct Setting<'s> {
    pub defines: &'s [(String, i64)],
    pub target: Target,
    /// How many commands of each apply.
    pub first_commands: Option<usize>,
    pub program: (&'s [ast::File], &'s program::Options),
}

/// The alternatives of a function through all stages.
pub(super) struct Chosen {
    pub kernel: Kernel,
    /// The function as the last one has its sizes, if it fixes some.
    pub function: Option<Function>,
    /// The graphs, the last one behind all others.
    pub graphs: Vec<Graph>,
    pub lattices: Vec<Vec<lattice::Report>>,
    pub remarks: Vec<Diagnostic>,
    /// The commands that applied, as they can be written.
    pub script: Vec<String>,
    /// What `let` and `param` are.
    pub constants: BTreeMap<String, i64>,
}

/// Builds all alternatives and makes one kernel of them. `lowered`: what is there already of the only
/// one.
///
/// # Errors
/// Those of each alternative; conditions that cannot be asked; kernels that differ to callers.
pub(super) fn build_all(
    function: &Function,
    alternatives: &[Alternative],
    setting: &Setting,
    (lowered, sources): (Option<Built>, &Sources),
) -> Diagnosed<Chosen> {
    let mut lowered = lowered;
    let mut all = Vec::new();
    let mut known = BTreeMap::new();
    let mut errors = Vec::new();
    let runs = |alternative: &&Alternative| {
        alternative.is_last()
            || !schedule::size::is_ruled_out(function, &alternative.commands, setting.defines)
    };
    let alternatives: Vec<&Alternative> = alternatives.iter().filter(runs).collect();
    for alternative in &alternatives {
        let built = match lowered.take() {
            Some(built) => Ok((built, None)),
            None => one(function, alternative, setting, &mut known),
        };
        match built {
            Ok(built) => all.push(built),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let Some((last, specialised)) = all.pop() else {
        return Err(errors);
    };
    let mut kernel = last.kernel;
    let mut choices = Vec::new();
    let mut heads = Vec::new();
    let (mut graphs, mut lattices) = (Vec::new(), Vec::new());
    let mut remarks: Vec<Diagnostic> = Vec::new();
    let mut note = |found: Vec<Diagnostic>| {
        for remark in found {
            // What is said of one alternative is not said again of another.
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
    };
    for ((other, _), alternative) in all.into_iter().zip(&alternatives) {
        let arm = alternative
            .arm
            .and_then(|arm| Some((arm, arm.condition.as_ref()?)));
        let Some((arm, e)) = arm else { continue };
        let fixed = specialised.as_ref().unwrap_or(function);
        let constants = constants_of(fixed, alternative, setting.defines)?;
        let asked = conditions::condition(e, &mut kernel, (&constants, setting.target));
        let (before, condition) = asked.map_err(|error| vec![error])?;
        heads.push((arm.span, format!("when {}", words(e, sources))));
        choices.push(Choice {
            before,
            condition,
            kernel: other.kernel,
        });
        note(other.remarks);
        graphs.push(other.graph);
        lattices.push(other.lattices);
    }
    note(last.remarks);
    graphs.push(last.graph);
    lattices.push(last.lattices);
    let mut script = script(&heads, &graphs);
    let before = alternatives
        .first()
        .map_or(&[][..], |one| &one.commands[..one.before]);
    let before = constants::values(before, &own_defines(before, setting.defines));
    let named = declared_in(&heads, &before);
    script.splice(0..0, named);
    let own = graphs.last().map_or(0, |graph| graph.script.len());
    kernel.comment.truncate(kernel.comment.len() - own);
    kernel.comment.extend(script.iter().cloned());
    let kernel = choice::choose(choices, kernel, setting.target).map_err(|(at, why)| {
        let arm = alternatives.get(at).and_then(|alternative| alternative.arm);
        vec![differs(arm.map_or(function.span, |arm| arm.span), why)]
    })?;
    let function = specialised.as_ref().unwrap_or(function);
    Ok(Chosen {
        kernel: placed(function, kernel, setting.target)?,
        function: specialised,
        graphs,
        lattices,
        remarks,
        script,
        constants: known,
    })
}

/// The diagnostic of schedules that are not interchangeable.
fn differs(span: Span, why: Differs) -> Diagnostic {
    let (message, help) = match why {
        Differs::Interface => (
            "callers would see a difference between this schedule and the last one",
            "assemble results in the same way, and fix in `otherwise` only sizes that all fix",
        ),
        Differs::Appends => (
            "a schedule that appends stored elements cannot be chosen by the data on a GPU: not supported yet",
            "store what it makes dense, as a bitmap, or in an operand's pattern; or choose when compiling",
        ),
        Differs::Keeps => (
            "a schedule that keeps the coordinates of what it appends cannot be chosen by the data",
            "choose when compiling, or leave out `assemble(.., once)`",
        ),
    };
    Diagnostic::error(codes::CHOICE, span, message, "this one").with_help(help)
}

/// One alternative up to lowering, and the function as it has its sizes.
fn one(
    function: &Function,
    alternative: &Alternative,
    setting: &Setting,
    known: &mut BTreeMap<String, i64>,
) -> Diagnosed<(Built, Option<Function>)> {
    let commands = first(&alternative.commands, setting.first_commands);
    let settings = Settings {
        defines: own_defines(&commands, setting.defines),
        target: setting.target,
    };
    known.extend(constants::values(&commands, &settings.defines));
    let specialised =
        schedule::size::specialised(function, &commands, &settings.defines, setting.program)?;
    let built = lowered(
        specialised.as_ref().unwrap_or(function),
        &commands,
        &settings,
    )?;
    Ok((built, specialised))
}

/// Those of `-D` that the commands declare.
fn own_defines(commands: &[Command], defines: &[(String, i64)]) -> Vec<(String, i64)> {
    let own = declared_names(commands);
    let defines = defines.iter().filter(|(name, _)| own.contains(name));
    defines.cloned().collect()
}

/// What conditions may name: constants that stand before `choose`, and sizes of the function as the
/// last alternative fixes them.
fn constants_of(
    function: &Function,
    alternative: &Alternative,
    defines: &[(String, i64)],
) -> Diagnosed<Constants> {
    let commands = &alternative.commands[..alternative.before];
    let mut constants = Constants::new(&own_defines(commands, defines)).with_sizes(function);
    for command in commands {
        constants.declare(command).map_err(|error| vec![error])?;
    }
    Ok(constants)
}

/// The text of an expression on one line.
fn words(e: &ast::Expr, sources: &Sources) -> String {
    let text = &sources.get(e.span.file).text;
    let text = text.get(e.span.start as usize..e.span.end as usize);
    let words: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
    words.join(" ")
}

/// `let` for each constant that a condition names, so that the script can be used as it is.
fn declared_in(heads: &[(Span, String)], known: &BTreeMap<String, i64>) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let named = |name: &str| {
        let mut words = heads
            .iter()
            .flat_map(|(_, head)| head.split(|c| !is_name(c)));
        words.any(|word| word == name)
    };
    let known = known.iter().filter(|(name, _)| named(name));
    known
        .map(|(name, value)| format!("let {name} = {value}"))
        .collect()
}

/// The commands that applied: those of the only schedule, or all under `choose`.
fn script(heads: &[(Span, String)], graphs: &[Graph]) -> Vec<String> {
    let Some((last, others)) = graphs.split_last() else {
        return Vec::new();
    };
    if others.is_empty() {
        return last.script.clone();
    }
    let mut lines = vec!["choose {".to_string()];
    let mut arm = |head: &str, script: &[String]| {
        lines.push(format!("  {head}: {{"));
        lines.extend(script.iter().map(|line| format!("    {line}")));
        lines.push("  }".to_string());
    };
    for ((_, head), graph) in heads.iter().zip(others) {
        arm(head, &graph.script);
    }
    arm("otherwise", &last.script);
    lines.push("}".to_string());
    lines
}
