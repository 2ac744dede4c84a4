//! Formulas of Alamro, Xu, Lan & Subramaniam (`shed`): the two theorems, and Algorithm 1 in instances small enough to try
//! all numbers of clones.

#![allow(clippy::unnecessary_wraps, reason = "all formulas have one type, which allows them to fail")]

mod greedy;
mod theorems;

use super::{Table, Value, one, text};

/// The values of this paper, by name.
pub(super) const VALUES: &[(&str, Value)] = &[
    ("greedy/least-pocd", greedy::least_pocd),
    ("greedy/mean-pocd", greedy::mean_pocd),
    ("greedy/left-over", greedy::left_over),
    ("greedy/alone", greedy::alone),
    ("theorems/submitted-at-most-one", theorems::submitted_at_most_one),
    ("theorems/running-at-constant-rate", theorems::running_at_constant_rate),
];

/// The tables of this paper, by name.
pub(super) const TABLES: &[(&str, Table)] = &[
    ("theorems/submitted", theorems::submitted_table),
    ("theorems/running", theorems::running_table),
    ("greedy/objectives", greedy::objectives_table),
];
