//! Suggests a known name for an unknown one.

/// Returns the candidate that differs least from `name`; `None` if all differ too much.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(1) + 1;
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns `; did you mean "…"?` with the nearest candidate, or an empty text.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}

/// Returns the Levenshtein distance: the number of characters to insert, remove or change.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, c) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, d) in other.iter().enumerate() {
            let change = diagonal + usize::from(c != *d);
            diagonal = row[column + 1];
            row[column + 1] = change.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        assert_eq!(nearest("mantry", ["late", "mantri", "sca"]), Some("mantri"));
        assert_eq!(nearest("max-copies", ["max_copies", "sigma"]), Some("max_copies"));
        assert_eq!(nearest("zebra", ["late", "mantri"]), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
