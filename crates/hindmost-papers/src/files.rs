//! The files of a reproduction beside its pages: claims and jobs as CSV and Parquet.
//!
//! `claims.csv` has a row for each claim, part and reading: `claim`, `part` (from 0), `figure`, `section`, `abstract` (`true` or
//! `false`), `reading`, `value` (in words), `mean`, `ci_low`, `ci_high`, `unit`, `low`, `high` (limits of the rule),
//! `whole_interval`, `holds` (the part under this reading), `claim_holds` (all parts under this reading), `verdict`, `claimed`,
//! `paper`, `number` (place of the claim in the paper's list, from 1), `case` (from 0; a formula may have values for several cases
//! of one name), `stated_by` (`paper` or `reading`) and `slip` (`true` or `false`). Claims that were not run have one row without
//! numbers. Numbers that do not exist are `NaN`.
//!
//! `jobs.csv` has a row for each job of the simulations under the base reading and under the readings that were named:
//! `world`, `reading`, `policy`, `seed`, `job`, `arrival`, `start`, `finish`, `flowtime`, `running_time`, `resource`,
//! `tasks`, `attempts`, `energy` (of the job's attempts in joules; empty in CSV and `NaN` in Parquet where the world has no
//! power model), `sweep` and `value` (name of the sweep and the value of its variable; empty outside sweeps).

use std::io;
use std::path::Path;

use hindmost_claims::{Claim, Estimate, Expected, Figure, Measured, RankedValue, Ranking, StatedBy};
use hindmost_sim::records::{Extra, Format, JOB_COLUMNS, Kind, Value, job_row, of_job, write_table};

use crate::reproduce::Made;

const CLAIM_COLUMNS: [(&str, Kind); 23] = [
    ("claim", Kind::Text),
    ("part", Kind::Count),
    ("figure", Kind::Text),
    ("section", Kind::Text),
    ("abstract", Kind::Text),
    ("reading", Kind::Text),
    ("value", Kind::Text),
    ("mean", Kind::Seconds),
    ("ci_low", Kind::Seconds),
    ("ci_high", Kind::Seconds),
    ("unit", Kind::Text),
    ("low", Kind::Seconds),
    ("high", Kind::Seconds),
    ("whole_interval", Kind::Text),
    ("holds", Kind::Text),
    ("claim_holds", Kind::Text),
    ("verdict", Kind::Text),
    ("claimed", Kind::Text),
    ("paper", Kind::Text),
    ("number", Kind::Count),
    ("case", Kind::Count),
    ("stated_by", Kind::Text),
    ("slip", Kind::Text),
];

/// Columns before those of [`JOB_COLUMNS`].
const RUN_COLUMNS: [(&str, Kind); 4] =
    [("world", Kind::Text), ("reading", Kind::Text), ("policy", Kind::Text), ("seed", Kind::Count)];

/// Columns after those of [`JOB_COLUMNS`].
const SWEEP_COLUMNS: [(&str, Kind); 2] = [("sweep", Kind::Text), ("value", Kind::Text)];

/// Rows of jobs have their energy, but no deadlines.
const EXTRA: Extra = Extra { deadlines: false, energy: true };

/// Writes `claims` and, if the jobs were requested, `jobs` to a folder, each as CSV and as Parquet.
///
/// # Errors
/// If a file cannot be written; the message names the path.
pub fn write(folder: &Path, made: &Made) -> io::Result<()> {
    for format in [Format::Csv, Format::Parquet] {
        write_table(folder, "claims", format, &CLAIM_COLUMNS, |write| claims(made, write))?;
        if !made.jobs.is_empty() {
            let of_jobs = of_job(EXTRA, &JOB_COLUMNS);
            let columns: Vec<_> = RUN_COLUMNS.into_iter().chain(of_jobs).chain(SWEEP_COLUMNS).collect();
            write_table(folder, "jobs", format, &columns, |write| jobs(made, write))?;
        }
    }
    Ok(())
}

type Write<'a> = &'a mut dyn FnMut(&[Value<'_>]) -> io::Result<()>;

fn word(is: bool) -> &'static str {
    if is { "true" } else { "false" }
}

fn claims(made: &Made, write: Write<'_>) -> io::Result<()> {
    let paper = &made.reproduction.paper;
    for (figure, claim) in made.reproduction.claims() {
        if claim.readings.is_empty() {
            claim_row(paper, figure, claim, [0, 0], claim.expected, None, write)?;
        }
        let main = (claim.expected, &claim.readings);
        let parts = std::iter::once(main).chain(claim.also.iter().map(|part| (part.expected, &part.readings)));
        for (at, (expected, readings)) in parts.enumerate() {
            for (before, measured) in readings.iter().enumerate() {
                let case = readings[..before].iter().filter(|other| other.reading == measured.reading).count();
                claim_row(paper, figure, claim, [at as u64, case as u64], expected, Some(measured), write)?;
            }
        }
    }
    Ok(())
}

fn claim_row(
    paper: &str,
    figure: &Figure,
    claim: &Claim,
    [part, case]: [u64; 2],
    expected: Expected,
    measured: Option<&Measured>,
    write: Write<'_>,
) -> io::Result<()> {
    let reading = measured.map_or("", |one| one.reading.as_str());
    let number = |number: Option<f64>| Value::Seconds(number.unwrap_or(f64::NAN));
    let interval = measured.and_then(|one| one.ci95);
    write(&[
        Value::Text(&claim.id),
        Value::Count(part),
        Value::Text(&figure.name),
        Value::Text(&claim.section),
        Value::Text(word(claim.in_abstract)),
        Value::Text(reading),
        Value::Text(measured.map_or("", |one| one.value.as_str())),
        number(measured.and_then(|one| one.mean)),
        number(interval.map(|ends| ends[0])),
        number(interval.map(|ends| ends[1])),
        Value::Text(measured.map_or("", |one| one.unit.as_str())),
        number(expected.low),
        number(expected.high),
        Value::Text(word(expected.whole_interval)),
        Value::Text(measured.map_or("", |one| word(one.holds))),
        Value::Text(claim.holds_under(reading).map_or("", word)),
        Value::Text(&claim.short_verdict()),
        Value::Text(&claim.claimed),
        Value::Text(paper),
        Value::Count(claim.number as u64),
        Value::Count(case),
        Value::Text(match claim.stated_by {
            StatedBy::Paper => "paper",
            StatedBy::Reading => "reading",
        }),
        Value::Text(word(claim.is_slip)),
    ])
}

fn jobs(made: &Made, write: Write<'_>) -> io::Result<()> {
    for run in &made.jobs {
        for job in run.jobs.iter() {
            let of_run =
                [Value::Text(&run.world), Value::Text(&run.reading), Value::Text(&run.policy), Value::Count(run.seed)];
            let values = of_job(EXTRA, &job_row(&job.name, &job.result));
            let (sweep, value) = run.place.as_ref().map_or(("", ""), |place| (&place.sweep, &place.value));
            let place = [Value::Text(sweep), Value::Text(value)];
            let row: Vec<Value<'_>> = of_run.into_iter().chain(values).chain(place).collect();
            write(&row)?;
        }
    }
    Ok(())
}

const RANKING_COLUMNS: [(&str, Kind); 14] = [
    ("knowledge", Kind::Text),
    ("world", Kind::Text),
    ("policy", Kind::Text),
    ("measure", Kind::Text),
    ("mean", Kind::Seconds),
    ("ci_low", Kind::Seconds),
    ("ci_high", Kind::Seconds),
    ("change", Kind::Seconds),
    ("change_ci_low", Kind::Seconds),
    ("change_ci_high", Kind::Seconds),
    ("rank", Kind::Seconds),
    ("rank_first", Kind::Seconds),
    ("rank_last", Kind::Seconds),
    ("abandoned_share", Kind::Seconds),
];

/// Writes `ranking` to a folder as CSV and as Parquet: a row for each progress model, world, policy and measure, with
/// `mean`, `ci_low`, `ci_high`, `change` against `none` with its interval (in per cent; for `pocd` a difference), `rank`
/// with the ranks that other seeds might give, and `abandoned_share`, the share of the jobs that were abandoned. Numbers
/// that do not exist are `NaN`.
///
/// # Errors
/// If a file cannot be written; the message names the path.
pub fn write_ranking(folder: &Path, ranking: &Ranking) -> io::Result<()> {
    for format in [Format::Csv, Format::Parquet] {
        write_table(folder, "ranking", format, &RANKING_COLUMNS, |write| ranking_rows(ranking, write))?;
    }
    Ok(())
}

fn ranking_rows(ranking: &Ranking, write: Write<'_>) -> io::Result<()> {
    for level in &ranking.levels {
        for world in &level.worlds {
            for row in &world.rows {
                let measures: [(&str, &RankedValue); 5] = [
                    ("flowtime", &row.flowtime),
                    ("flowtime_p99", &row.flowtime_p99),
                    ("resource", &row.resource),
                    ("energy", &row.energy),
                    ("pocd", &row.pocd),
                ];
                for (measure, value) in measures {
                    let number = |number: Option<f64>| Value::Seconds(number.unwrap_or(f64::NAN));
                    let end = |estimate: &Estimate, at: usize| number(estimate.ci95.map(|ends| ends[at]));
                    write(&[
                        Value::Text(&level.knowledge),
                        Value::Text(&world.world),
                        Value::Text(&row.policy),
                        Value::Text(measure),
                        number(value.value.mean),
                        end(&value.value, 0),
                        end(&value.value, 1),
                        number(value.change.mean),
                        end(&value.change, 0),
                        end(&value.change, 1),
                        number(value.rank.map(|rank| rank.rank)),
                        number(value.rank.map(|rank| rank.first as f64)),
                        number(value.rank.map(|rank| rank.last as f64)),
                        Value::Seconds(row.abandoned_share),
                    ])?;
                }
            }
        }
    }
    Ok(())
}
