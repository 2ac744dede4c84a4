//! The energy of policies, by what it was used for.

use hindmost_core::metrics::{EnergyParts, PolicyResult};

use super::name;
use crate::comparison::significant;
use crate::document::Table;
use crate::figures::{Axis, Bar, BarChart, Unit};
use crate::text::percent;

/// A part of the energy: its heading and its value.
type Part = (&'static str, fn(&EnergyParts) -> f64);

/// The columns of the table after the total.
const PARTS: [Part; 9] = [
    ("idle (J)", |parts| parts.idle),
    ("normal, won (J)", |parts| parts.normal_successful),
    ("normal, killed (J)", |parts| parts.normal_killed),
    ("stragglers, won (J)", |parts| parts.stragglers_successful),
    ("stragglers, killed (J)", |parts| parts.stragglers_killed),
    ("copies, won (J)", |parts| parts.copies_successful),
    ("copies, killed (J)", |parts| parts.copies_killed),
    ("lost or unfinished (J)", |parts| parts.lost),
    ("remainder (J)", |parts| parts.remainder),
];

/// Explains the columns of [`table`].
pub(super) const ABOUT: &str = "Energy is in joules, of all nodes in the runs of all seeds together. Idle: the power of nodes \
                                on which nothing runs, over the whole run. Normal, stragglers: originals; a straggler took \
                                longer than 1.5 times the mean at its node's speed, or a copy was started for it. Won: \
                                finished first. Remainder: energy that no attempt causes alone, because the power of a node is \
                                not proportional to its busy cores.";

/// Returns the table of energies; `None` if no policy has them.
pub(super) fn table(rows: &[&PolicyResult]) -> Option<Table> {
    let known = |row: &&PolicyResult| row.energy.as_ref().map(|energy| (name(&row.policy), energy.clone()));
    let known: Vec<_> = rows.iter().filter_map(known).collect();
    if known.is_empty() {
        return None;
    }
    // Parts that no policy has are left out.
    let is_used = |of: &fn(&EnergyParts) -> f64| known.iter().any(|(_, energy)| of(&energy.parts) != 0.0);
    let parts: Vec<_> = PARTS.iter().filter(|(_, of)| is_used(of)).collect();
    let mut columns = vec!["policy:", "energy (J)"];
    columns.extend(parts.iter().map(|(heading, _)| *heading));
    columns.push("mean of a job (J)");
    let mut table = Table::new("Energy of each policy", &columns);
    for (policy, energy) in known {
        let mut cells = vec![policy, significant(energy.parts.total())];
        cells.extend(parts.iter().map(|(_, of)| significant(of(&energy.parts))));
        cells.push(energy.job.mean.map_or("–".to_owned(), significant));
        table.row(cells);
    }
    Some(table)
}

/// Returns the chart of energies with the share of the attempts that won; `None` if no policy has them.
pub(super) fn chart(rows: &[&PolicyResult]) -> Option<BarChart> {
    let bar = |row: &&PolicyResult| {
        let parts = row.energy.as_ref()?.parts;
        let won = parts.normal_successful + parts.stragglers_successful + parts.copies_successful;
        let whole = parts.total();
        let share = if whole > 0.0 { won / whole } else { 0.0 };
        let text = format!("{} J, {} of it for attempts that won", significant(whole), percent(share));
        Some(Bar { name: row.policy.clone(), whole, part: Some(won), text })
    };
    let bars: Vec<Bar> = rows.iter().filter_map(bar).collect();
    (!bars.is_empty()).then(|| BarChart {
        title: "Energy".to_owned(),
        about: "For each policy, the energy of all nodes, and the energy of the attempts that won.".to_owned(),
        axis: Axis::new("energy in all seeds together", Unit::Number("J".to_owned())),
        bars,
        legend: Some(["all energy".to_owned(), "energy of attempts that won".to_owned()]),
    })
}
