//! The readings: interpretations of details that the paper does not specify.

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

const ALL: &[(&str, &str)] = &[
    (
        BASE,
        "The one that the others vary. Once a fifth of a copy's work is done its remaining time is known; before, \
         rules on remaining time leave it alone. Slot 0.1, r = 8, γ = 0.01; backups before originals; Mantri's jobs in \
         the order that SDA and ESE prescribe (started ones first, then the smallest workload); runs go on until every \
         job that arrived has finished. The paper gives neither s_i, nor the slot, nor r and an end for its simulations, \
         nor an order for Mantri's jobs.",
    ),
    (ORACLE, "Remaining times are known from each copy's start, for every policy."),
    (EARLY, "Remaining times are known once a tenth of the work is done, for every policy."),
    (
        RANDOM,
        "Remaining times are known from a fraction of the work on that is drawn for each copy uniformly from (0, 1): \
         the paper's asktime (Definition 2), for every policy.",
    ),
    (AGE, "Policies observe no progress, only how long a copy has run."),
    (MANTRI_LATE, "SDA and ESE know remaining times at a fifth of the work, Mantri at half of it."),
    (MANTRI_RANDOM, "SDA and ESE know remaining times at a fifth of the work, Mantri as under progress(uniform)."),
    (ORACLE_AGAINST_RANDOM, "SDA and ESE know remaining times at once, Mantri as under progress(uniform)."),
    (
        RESTARTS,
        "Mantri also stops a copy and relaunches it if no machine is idle for its backup. Because backups start before \
         originals, a machine is nearly always idle, even under heavy load: some attempts end in every slot.",
    ),
    (FAIR, "Mantri's machines go to the job that holds the fewest."),
    (FIFO, "Mantri's machines go to the job that arrived first."),
    (SLOT_1, "Decisions are made once in a unit of time instead of ten times."),
    (TWO_COPIES, "SCA starts at most two copies of a task (r = 2), as in the analysis of section III."),
    (
        CLONES_SMALL,
        "ESE's ξ is 4.01 instead of 1, so that jobs of every mean duration (1 to 4) may count as small. With the \
         paper's ξ = 1 none does.",
    ),
    (
        CUT,
        "Added to another reading: only jobs count that had finished when arrivals stopped, as if the run had ended \
         there.",
    ),
    (ANALYSIS, "The paper's formulas, evaluated without simulation and with the corrections that are named."),
    (PRINTED_STEPS, "The dual method with the steps that the paper prints, η = 0.2, 0.3, 0.4."),
    (SMALLER_STEPS, "The dual method with η₁ = 0.002 for the machines' multiplier; the other two as printed."),
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
