//! Formulas of Xu, Liu & Lau 2022 (`DollyMP`).

use super::{Table, Value};

/// The values of this paper, by name.
pub(super) const VALUES: &[(&str, Value)] = &[];

/// The tables of this paper, by name.
pub(super) const TABLES: &[(&str, Table)] = &[("overhead/copies", crate::overhead::copies_table)];
