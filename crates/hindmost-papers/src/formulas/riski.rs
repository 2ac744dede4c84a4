//! Formulas of Zheng, Liao & Liu 2014 (`riski`): the gain of a backup (section 6.3), the weights of factors (section 5.3) and
//! the arithmetic of the published numbers.

#![allow(clippy::unnecessary_wraps, reason = "all formulas have one type, which allows them to fail")]

mod gain;
mod published;
mod weights;

use super::{Table, Value, one};

/// The values of this paper, by name.
pub(super) const VALUES: &[(&str, Value)] = &[
    ("published/success-large", published::success_large),
    ("published/fewer-deviation", published::fewer_deviation),
    ("published/splits", published::splits),
    ("published/testbed-2", published::second_testbed),
    ("risk/before-last", gain::before_last),
    ("risk/two-parts", gain::two_parts),
    ("risk/certain", gain::certain),
    ("risk/slower-on-average", gain::slower_on_average),
    ("profile/weight-of-noise", weights::noise),
    ("profile/weight-of-input", weights::input),
];

/// The tables of this paper, by name.
pub(super) const TABLES: &[(&str, Table)] =
    &[("published/backups", published::backups_table), ("risk/examples", gain::examples)];
