//! "Did you mean": the known name that a misspelt one is closest to.

/// The candidate nearest to `name`, if it is near enough to be what was meant:
/// at most one edit for short names, two from six letters on.
pub fn nearest<'n>(name: &str, candidates: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let limit = if name.chars().count() < 6 { 1 } else { 2 };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && candidate.chars().count() > *distance)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `did you mean `x`?`, or `otherwise` when nothing is near.
#[must_use]
pub fn suggest<'n>(
    name: &str,
    candidates: impl IntoIterator<Item = &'n str>,
    otherwise: &str,
) -> String {
    nearest(name, candidates).map_or_else(
        || otherwise.to_owned(),
        |found| format!("did you mean `{found}`?"),
    )
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into
/// `b`; letter case does not count.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("alhpa", ["beta", "alpha"]), Some("alpha"));
        assert_eq!(nearest("expf1", ["expm1", "exp"]), Some("expm1"));
        assert_eq!(nearest("q", ["x", "y"]), None);
        assert_eq!(nearest("weights", ["heights", "wait"]), Some("heights"));
        assert_eq!(nearest("sqrt", ["sin", "cos"]), None);
    }
}
