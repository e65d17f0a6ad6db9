//! Rows of sparse operands that loops come to again and again: merged with others each time, they are
//! walked each time. In a workspace, an element is there or zero wherever others have one.

use super::Writer;
use super::commands::Texts;
use super::plan::{Best, Of};

/// The command that keeps the row of an operand in a workspace, if the innermost loop merges it with
/// rows that change more often (`c += L(i,j) * L(j,k) * L(i,k)`). A vector is a row that never changes
/// (`y(i) = A(i,j) * x(j)`).
pub(super) fn kept_row(writer: &Writer, best: &Best) -> Option<String> {
    let product = &best.product;
    let at = product.vars.len().checked_sub(1)?;
    if !product.in_parts || best.pays() {
        return None;
    }
    let drives = |n: usize| {
        let last = product.factors[n].levels.last();
        last.is_some_and(|level| level.at == at && level.children.is_some())
    };
    // Some loop stands inside of those that give the row, and outside of the one along it.
    let stays = |n: usize| at > 0 && product.factors[n].vars >> (at - 1) & 1 == 0;
    let mut driving = (0..product.factors.len()).filter(|&n| drives(n));
    let (first, second) = (driving.next()?, driving.next()?);
    let row = [first, second].into_iter().find(|&n| stays(n));
    let row = row.filter(|_| driving.next().is_none())?;
    let fits = product.extents[at] <= writer.profile.estimate.most_elements;
    let text = Texts::of(writer.graph, product).product_of(&[Of::Given(row)]);
    let var = writer.name(product.vars[at]);
    fits.then(|| format!("precompute({text}, {var}, {var}, {})", writer.fresh("row")))
}
