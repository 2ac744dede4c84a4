//! The readings of Xu & Lau 2015: interpretations of details that the paper does not specify.

use hindmost_core::reproduction::Reading;

pub(super) const BASE: &str = "progress(0.2)";
pub(super) const ORACLE: &str = "oracle";
pub(super) const EARLY: &str = "progress(0.1)";
pub(super) const RANDOM: &str = "progress(uniform)";
pub(super) const AGE: &str = "age";
pub(super) const MANTRI_LATE: &str = "Mantri later";
pub(super) const MANTRI_RANDOM: &str = "Mantri at random";
pub(super) const ORACLE_AGAINST_RANDOM: &str = "oracle against random";
pub(super) const RESTARTS: &str = "Mantri restarts";
pub(super) const FAIR: &str = "Mantri fair";
pub(super) const FIFO: &str = "Mantri fifo";
pub(super) const SLOT_1: &str = "slot 1";
pub(super) const TWO_COPIES: &str = "two copies";
pub(super) const CLONES_SMALL: &str = "small jobs cloned";
pub(super) const CUT: &str = "cut";
pub(super) const ANALYSIS: &str = "analysis";
pub(super) const PRINTED_STEPS: &str = "printed steps";
pub(super) const SMALLER_STEPS: &str = "smaller steps";

/// The unit of σ.
pub(super) const SIGMA: &str = "mean durations";

const ALL: &[(&str, &str)] = &[
    (
        BASE,
        "The base reading; each other reading changes a part of it. The remaining time of a copy is known once a fifth \
         of its work is done; until then no policy starts a backup because of it. Policies decide every 0.1 units of \
         time, r = 8 and γ = 0.01. Backups start before originals. Mantri's jobs have the order that SDA and ESE \
         prescribe: started jobs first, then the job with the smallest workload. A run ends when every job that \
         arrived has finished. The paper specifies neither s_i, the slot, r and the end of its simulations, nor an \
         order for Mantri's jobs.",
    ),
    (ORACLE, "Remaining times are known from each copy's start, for every policy."),
    (EARLY, "Remaining times are known once a tenth of the work is done, for every policy."),
    (
        RANDOM,
        "The remaining time of a copy is known, for every policy, once a fraction of its work is done. The fraction is \
         drawn for each copy uniformly from (0, 1): the paper's asktime (Definition 2).",
    ),
    (AGE, "Policies observe no progress, only for how long a copy has been running."),
    (MANTRI_LATE, "SDA and ESE know remaining times once a fifth of the work is done, Mantri once half of it is done."),
    (
        MANTRI_RANDOM,
        "SDA and ESE know remaining times once a fifth of the work is done, Mantri as in progress(uniform).",
    ),
    (ORACLE_AGAINST_RANDOM, "SDA and ESE know remaining times from each copy's start, Mantri as in progress(uniform)."),
    (
        RESTARTS,
        "If no machine is idle for a backup, Mantri stops the copy and relaunches it. This is rare even under heavy \
         load: some attempts end in every slot, and backups start before originals, so a machine is nearly always \
         idle.",
    ),
    (FAIR, "Under Mantri, the job that holds the fewest machines is served first."),
    (FIFO, "Under Mantri, the job that arrived first is served first."),
    (SLOT_1, "Policies decide every unit of time instead of every 0.1 units of time."),
    (TWO_COPIES, "SCA starts at most two copies of a task (r = 2), as in the analysis of section III."),
    (
        CLONES_SMALL,
        "ESE's ξ is 4.01 instead of 1, so that a job of any mean duration (1 to 4) can count as small. With the \
         paper's ξ = 1 no job counts as small.",
    ),
    (
        CUT,
        "An addition to another reading: only the jobs count that had finished when arrivals stopped, as if the run \
         had ended at that time.",
    ),
    (ANALYSIS, "The paper's formulas, evaluated without simulation. Corrections of formulas are named at the claims."),
    (PRINTED_STEPS, "The dual method with the steps that the paper prints, η = 0.2, 0.3, 0.4."),
    (SMALLER_STEPS, "The dual method with η₁ = 0.002 for the machines' multiplier; η₂ and η₃ are as printed."),
];

/// Returns all readings with their descriptions.
pub(super) fn all() -> Vec<Reading> {
    let reading = |(name, description): &(&str, &str)| Reading {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
    };
    ALL.iter().map(reading).collect()
}

/// Returns the name of a reading combined with [`CUT`].
pub(super) fn cut(reading: &str) -> String {
    format!("{reading}, {CUT}")
}
