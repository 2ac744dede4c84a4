//! Formulas of Xu, Liu & Lau 2022 (`DollyMP`): the speed-up by copies (section 3), the comparison of three schemes
//! (section 4.1), Algorithm 1 with Theorem 1 and Corollary 4.1 (section 4.2), Theorem 2 (section 5.1), and the scores of
//! the example in Figure 2.

#![allow(clippy::unnecessary_wraps, reason = "all formulas have one type, which allows them to fail")]

mod example;
mod guarantees;
mod instances;
mod schemes;
mod speedup;

use hindmost_policies::theory::transient::Scheduled;

use super::{Table, Value, exact, one, text};

/// The values of this paper, by name.
pub(super) const VALUES: &[(&str, Value)] = &[
    ("example/job-1-first", example::example_scores),
    ("speedup/minimum", speedup::speedup_is_minimum),
    ("speedup/increasing", speedup::speedup_increases),
    ("speedup/concave", speedup::speedup_concave),
    ("speedup/third-copy", speedup::third_copy),
    ("speedup/fitted-alpha", speedup::smallest_fitted_alpha),
    ("schemes/one", schemes::scheme_1),
    ("schemes/three", schemes::scheme_3),
    ("schemes/three-random", schemes::scheme_3_random),
    ("schemes/differences", schemes::schemes_differences),
    ("schemes/condition-a", schemes::condition_a),
    ("schemes/condition-b", schemes::condition_b),
    ("schemes/order", schemes::schemes_order),
    ("transient/greedy", instances::greedy_is_exact),
    ("transient/srpt-optimal", instances::srpt_is_optimal),
    ("transient/all-prioritised", instances::all_get_priorities),
    ("transient/busy-while-waiting", || instances::busy(true)),
    ("transient/busy-always", || instances::busy(false)),
    ("transient/makespan", instances::makespan),
    ("transient/ratio", || instances::transient_ratio(true)),
    ("transient/mean-ratio", || instances::transient_ratio(false)),
    ("transient/lemma", instances::key_lemma),
    ("transient/copies-ratio", instances::copies_ratio),
    ("transient/copies-better", instances::copies_better),
    ("transient/printed-copies", instances::printed_copies),
    ("guarantee/size", guarantees::guarantees),
    ("guarantee/against-hrdf", guarantees::against_hrdf),
    ("guarantee/augmented", guarantees::augmented),
];

/// The tables of this paper, by name.
pub(super) const TABLES: &[(&str, Table)] = &[
    ("overhead/copies", crate::overhead::copies_table),
    ("example/epsilon", example::epsilon_table),
    ("speedup/table", speedup::speedup_table),
    ("schemes/order-table", schemes::order_table),
    ("guarantee/table", guarantees::guarantee_table),
];

/// Returns the total flowtime of jobs that all arrive at time 0.
fn total(schedule: &[Scheduled]) -> f64 {
    schedule.iter().map(|job| job.finish).sum()
}
