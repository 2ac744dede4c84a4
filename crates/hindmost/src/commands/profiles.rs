//! `hindmost profiles`: shows what a file of profiles contains.

use std::path::Path;

use hindmost_profiles::{KindOfProfiles, ProfilesDocument, Store, describe};
use hindmost_report::text::{counted, duration, escaped, indented};

use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Smallest weight that is shown: smaller ones would be rounded to 0.00.
const SHOWN: f64 = 0.005;

/// Prints the job types and phases of a file of profiles, with their durations and the weights of their factors.
pub fn run(file: &Path, as_json: bool) -> Outcome {
    let store = Store::open_existing(file).map_err(Failure::input)?;
    let document = describe(&store, &file.display().to_string()).map_err(Failure::input)?;
    if as_json {
        return terminal::print_json(&document);
    }
    terminal::print(&text(&document, usize::from(terminal::width())))
}

fn text(document: &ProfilesDocument, width: usize) -> String {
    let mut text = format!("{}: {}\n", escaped(&document.file), counted(document.profiles, "profile"));
    for kind in &document.kinds {
        text += &format!("\n{}\n", escaped(&format!("{}/{}", kind.job, kind.phase)));
        text += &format!("  {} from {}\n", counted(kind.count, "profile"), counted(kind.nodes, "node"));
        text += &format!("  median {}, 90th percentile {}\n", duration(kind.median), duration(kind.p90));
        text += &indented("  durations depend on ", &weights(kind), width);
    }
    text
}

/// Describes on which factors the durations depend, the largest weight first.
fn weights(kind: &KindOfProfiles) -> String {
    let mut weights: Vec<_> = kind.weights.iter().collect();
    weights.retain(|one| one.weight >= SHOWN);
    weights.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    let shown: Vec<String> =
        weights.iter().map(|one| format!("{} (weight {:.2})", escaped(&one.factor), one.weight)).collect();
    if !shown.is_empty() {
        return shown.join(", ");
    }
    let speeds =
        if kind.nodes > 1 { ", once they are converted to speed 1 by the known speeds of the nodes" } else { "" };
    format!("no known factor{speeds}")
}
