//! Formulas of Zhou, Phan, Ibrahim & He 2018 (`window`): the example of Figure 3, the size of the search and its rules
//! (section 5.1 and 5.2), the power of slots (section 5.2.2), and the arithmetic of the published numbers (section 6).

#![allow(clippy::unnecessary_wraps, reason = "all formulas have one type, which allows them to fail")]

mod example;
mod power;
mod published;
mod search;

use super::{Table, Value, one};

/// The values of this paper, by name.
pub(super) const VALUES: &[(&str, Value)] = &[
    ("figure-3/early-finish", || example::finish(example::Schedule::Early)),
    ("figure-3/late-finish", || example::finish(example::Schedule::Late)),
    ("figure-3/window-finish", || example::finish(example::Schedule::Window)),
    ("figure-3/early-resource", || example::resource(example::Schedule::Early)),
    ("figure-3/late-resource", || example::resource(example::Schedule::Late)),
    ("figure-3/window-resource", || example::resource(example::Schedule::Window)),
    ("figure-3/early-copy", || example::copy(example::Schedule::Early)),
    ("figure-3/late-copy", || example::copy(example::Schedule::Late)),
    ("figure-3/window-copy", || example::copy(example::Schedule::Window)),
    ("figure-3/finish-gain", example::finish_gain),
    ("figure-3/resource-gain", example::resource_gain),
    ("figure-3/chosen-slot", example::chosen_slot),
    ("skyline/solutions", search::solutions),
    ("skyline/evaluations", search::evaluations),
    ("skyline/residual", search::residual),
    ("skyline/scan-order", search::scan_order),
    ("skyline/closeness", search::closeness),
    ("skyline/score-2", search::second_score),
    ("skyline/rescheduling", search::rescheduling),
    ("skyline/locality-cases", search::locality_cases),
    ("power/up-to-cores", power::up_to_cores),
    ("power/above-cores", power::above_cores),
    ("published/efficiency-none", || published::efficiency("noSpec", 27.0, 21.0)),
    ("published/efficiency-default", || published::efficiency("Default", 22.0, 23.0)),
    ("published/efficiency-hete", || published::efficiency("Hete-aware", 20.0, 20.0)),
    ("published/one-over-energy", published::one_over_energy),
    ("published/efficiency-130", || published::efficiency("Hete-aware, straggler ratio 0.4", 30.0, 34.0)),
    ("published/other-jobs", published::other_jobs),
    ("published/figure-9-difference", published::figure_9_difference),
];

/// The tables of this paper, by name.
pub(super) const TABLES: &[(&str, Table)] = &[
    ("figure-3/schedules", example::schedules),
    ("skyline/scores", search::scores_table),
    ("published/arithmetic", published::arithmetic_table),
];
