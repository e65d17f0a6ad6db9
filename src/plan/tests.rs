//! Plans of small programs (`testdata/stages/plan`), and what is said to be set, against all that
//! operands may store.

mod coverage;

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
