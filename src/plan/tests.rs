//! Plans of small programs (`testdata/stages/plan`), and what is said to be set, against all that
//! operands may store.

mod counted;
mod coverage;
mod runner;

use super::text;
use crate::cases::{check, rendered, scheduled};
use crate::diagnostic::Sources;

#[test]
fn cases_of_plans() {
    check("plan", |shared, given| {
        let mut sources = Sources::default();
        let made = scheduled(&mut sources, shared, given)
            .and_then(|graph| text::of(&graph).map_err(|error| vec![error]));
        match made {
            Ok(lines) if lines.is_empty() => "no plan".to_string(),
            Ok(lines) => text::print(&lines),
            Err(errors) => rendered(&errors, &sources),
        }
    });
}

/// Levels are planned one after the other: twenty of them would not end if each doubled the work.
#[test]
fn plans_of_many_levels() {
    let vars: Vec<String> = (1..=20).map(|n| format!("i{n}")).collect();
    let (vars, levels) = (vars.join(","), vec!["compressed"; 20].join(", "));
    let sizes: Vec<String> = (1..=20).map(|n| format!("N{n}")).collect();
    let sizes = sizes.join(",");
    for (rhs, command) in [
        ("A({v}) + B({v}) + D({v})", ""),
        ("A({v}) * B({v})", "assemble(C, two_phase)"),
    ] {
        let rhs = rhs.replace("{v}", &vars);
        let given = format!(
            "def f(double({sizes}) A, double({sizes}) B, double({sizes}) D) -> (C) {{ C({vars}) = {rhs} }}
             format f {{ A: {{{levels}}}, B: {{{levels}}}, C: {{{levels}}}, D: {{{levels}}} }}
             schedule f {{ {command} }}"
        );
        let mut sources = Sources::default();
        let planned = scheduled(&mut sources, "", &given)
            .and_then(|graph| text::of(&graph).map_err(|error| vec![error]));
        match planned {
            Ok(lines) => assert!(!lines.is_empty()),
            Err(errors) => panic!("{}", rendered(&errors, &sources)),
        }
    }
}
