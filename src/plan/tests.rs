//! Plans of small programs (`testdata/stages/plan`), and what is said to be set, against all that
//! operands may store.

mod coverage;

use super::{plan, text};
use crate::cases::{check, rendered, scheduled};
use crate::diagnostic::Sources;

#[test]
fn cases_of_plans() {
    check("plan", |shared, given| {
        let mut sources = Sources::default();
        let made = scheduled(&mut sources, shared, given).and_then(|graph| {
            let span = graph.function.span;
            let plan = plan(&graph, span).map_err(|error| vec![error])?;
            Ok(plan.map(|plan| text::print(&text::outline(&graph, &plan))))
        });
        match made {
            Ok(text) => text.unwrap_or_else(|| "no plan".to_string()),
            Err(errors) => rendered(&errors, &sources),
        }
    });
}
