//! The ranking as text for the terminal.

use std::fmt::Write as _;

use hindmost_core::reproduction::{OverallRow, Ranking};

use super::{
    GROUPS, change, difference, made_by, mean_rank, mean_rank_interval, pocd_worlds, range, sorted, world_facts,
};
use crate::table::{Column, named, narrowed};
use crate::text::{escaped, wrapped};

/// Largest width of names.
const NAMES: usize = 28;

const COLUMNS: [Column<OverallRow>; 9] = [
    Column { heading: "mean rank", from_width: 0, cell: |row| mean_rank(&row.flowtime) },
    Column { heading: "95% interval", from_width: 110, cell: |row| mean_rank_interval(row.flowtime.mean_rank_ci95) },
    Column { heading: "flowtime", from_width: 0, cell: |row| change(row.flowtime.change) },
    Column { heading: "ranks", from_width: 60, cell: |row| range(&row.flowtime) },
    Column { heading: "worst", from_width: 90, cell: |row| change(row.flowtime.worst_change) },
    Column { heading: "p99", from_width: 70, cell: |row| change(row.flowtime_p99.change) },
    Column { heading: "resource", from_width: 50, cell: |row| change(row.resource.change) },
    Column { heading: "energy", from_width: 100, cell: |row| change(row.energy.change) },
    Column { heading: "PoCD", from_width: 80, cell: |row| difference(row.pocd.change) },
];

/// Returns the ranking as text of at most `width` columns: what it shows, the table over all worlds under the main progress
/// model, and what decides in each world. The pages have the tables of all worlds.
pub fn text(ranking: &Ranking, width: u16) -> String {
    let columns = usize::from(width.max(20));
    let paragraph = |text: &str| wrapped(&escaped(text), columns, 0) + "\n";
    let quick = if ranking.quick { " (quick)" } else { "" };
    let mut text = paragraph(&format!("{}{quick}: {}", ranking.paper, ranking.title)) + "\n";
    for sentence in &ranking.answer {
        text += &paragraph(sentence);
    }
    let Some(level) = ranking.levels.first() else { return text };
    for (heading, kinds) in GROUPS {
        let rows = sorted(ranking, level, kinds);
        if rows.is_empty() {
            continue;
        }
        let table = narrowed(&COLUMNS, width, NAMES, |columns, name_width| {
            let rows = rows.iter().map(|at| &level.overall[*at]);
            let named_rows = rows.map(|row| (crate::text::name(&row.policy, name_width, "…"), row));
            named(&crate::text::name(&heading.to_lowercase(), name_width, "…"), named_rows, columns)
        });
        let _ = write!(text, "\n{table}\n");
    }
    text += "\n";
    text += &paragraph(&format!(
        "All {} worlds with {}: mean rank and ranks by mean flowtime among {} policies. Flowtime, p99, resource and \
         energy: typical change against none (geometric mean of the worlds' ratios); worst: mean flowtime in the world \
         where it is worst; PoCD: mean difference of the probability of meeting a deadline. Energy is above idle{}.",
        level.worlds.len(),
        level.knowledge,
        ranking.policies.len(),
        pocd_worlds(level)
    ));
    for world in &level.worlds {
        text += "\n";
        text += &paragraph(&format!("{}: {}", world.world, world_facts(ranking, world)));
        text += &paragraph(&world.decides);
    }
    text += "\n";
    for note in &ranking.notes {
        text += &paragraph(note);
    }
    text += &paragraph(&format!("Command: hindmost {}. {}", ranking.command, made_by(ranking)));
    text
}
