//! Suggests a known name for an unknown one.

use strsim::osa_distance;

use crate::plain::Quoted;

/// Returns the candidate that differs least: by characters to insert, remove, change or swap with their neighbour. `None` if all
/// differ too much from `name`.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (name.chars().count() / 3).max(1) + 1;
    candidates
        .into_iter()
        .map(|candidate| (osa_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns `; did you mean "…"?` with the nearest candidate, or an empty text.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}

/// Rewrites what serde reports of an unknown or missing key or an unknown word: `there is no key "machine"; did you mean
/// "machines"?` instead of a list of all keys. Without a similar key the list stays. Other messages are returned unchanged.
///
/// The text before serde's words is kept. A last line ``in `cluster.nodes` ``, which `toml` adds, moves to the key.
pub fn with_nearest_name(message: &str) -> String {
    const MISSING: &str = "missing field `";
    const FORMS: [(&str, bool); 2] = [("unknown field `", true), ("unknown variant `", false)];
    if let Some((before, report)) = message.split_once(MISSING)
        && let Some((key, rest)) = report.split_once('`')
    {
        let path = rest.trim().strip_prefix("in `").map(|path| format!(" in {}", path.trim_end_matches('`')));
        return format!("{before}the key {} is missing{}", Quoted(key), path.unwrap_or_default());
    }
    let found = FORMS.into_iter().find_map(|(form, is_key)| message.find(form).map(|at| (at, is_key)));
    let Some((at, is_key)) = found else { return message.to_owned() };
    let (before, report) = message.split_at(at);
    let (report, path) = match report.split_once("\nin `") {
        Some((report, path)) => (report, format!(" in {}", path.trim_end().trim_end_matches('`'))),
        None => (report, String::new()),
    };
    let mut names = report.split('`').skip(1).step_by(2);
    let unknown = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    let valid = match did_you_mean(unknown, known.iter().copied()) {
        near if !near.is_empty() => near,
        _ if known.is_empty() => String::new(),
        _ => format!("; {} {}", if is_key { "the keys are" } else { "valid are" }, known.join(", ")),
    };
    let unknown = Quoted(unknown);
    if is_key {
        format!("{before}there is no key {unknown}{path}{valid}")
    } else {
        format!("{before}{unknown} is not valid{path}{valid}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_and_words_are_reported_in_plain_words() {
        for (message, expected) in [
            (
                "unknown field `machine`, expected one of `machines`, `racks`, `nodes`\nin `cluster`\n",
                "there is no key \"machine\" in cluster; did you mean \"machines\"?",
            ),
            ("unknown field `x`, expected `tasks` or `input`", "there is no key \"x\"; the keys are tasks, input"),
            ("unknown field `x`, there are no fields", "there is no key \"x\""),
            (
                "1 | a\nunknown variant `delya`, expected `first` or `delay`",
                "1 | a\n\"delya\" is not valid; did you mean \"delay\"?",
            ),
            ("missing field `tasks`", "the key \"tasks\" is missing"),
            ("missing field `tasks`\nin `job`\n", "the key \"tasks\" is missing in job"),
            ("the file is empty", "the file is empty"),
        ] {
            assert_eq!(with_nearest_name(message), expected);
        }
    }

    #[test]
    fn only_similar_names_are_suggested() {
        assert_eq!(nearest("mantry", ["late", "mantri", "sca"]), Some("mantri"));
        assert_eq!(nearest("max-copies", ["max_copies", "sigma"]), Some("max_copies"));
        assert_eq!(nearest("zebra", ["late", "mantri"]), None);
        // Two neighbours in the wrong order are one mistake.
        assert_eq!(nearest("pcae", ["sca", "sda", "pace"]), Some("pace"));
    }
}
