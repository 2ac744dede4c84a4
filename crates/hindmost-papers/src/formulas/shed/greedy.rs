//! Algorithm 1 in random instances, compared with the best of all possible numbers of clones.

use hindmost_claims::{Cell, DataTable, Measured};
use hindmost_math::random::{hash, unit};
use hindmost_policies::theory::pocd::{MissChance, ParetoTail};
use hindmost_policies::theory::shed::{Hopeless, ShedJob, ShedProblem, greedy, solve};

use super::{one, text};

/// The stream of random numbers of instances; any number that nothing else uses.
const STREAM: u64 = 0x7368_6564;
/// Number of random instances.
const INSTANCES: u64 = 500;

/// Returns two to four submitted jobs of 1 to 6 tasks, whose deadlines are 1.1 to 6 times the shortest duration away, on
/// a cluster with 0 to 15 slots for clones. β = 2.
fn instance(number: u64) -> Result<ShedProblem, String> {
    let random = |item: u64, what: u64| unit(hash(number, STREAM, item, what));
    let whole = |from: u64, to: u64, draw: f64| from + (draw * (to - from + 1) as f64) as u64;
    let tail = ParetoTail::new(1.0, 2.0).map_err(text)?;
    let count = whole(2, 4, random(0, 0));
    let job = |at: u64| {
        let miss = MissChance::submitted(tail, 1.1 + 4.9 * random(at, 1));
        ShedJob::new(whole(1, 6, random(at, 2)), miss)
    };
    let jobs: Vec<ShedJob> = (0..count).map(job).collect();
    let tasks: u64 = jobs.iter().map(|job| job.tasks).sum();
    let slots = tasks + count + whole(0, 15, random(0, 3));
    Ok(ShedProblem { jobs, slots: slots as f64, reserved: count as f64, hopeless: Hopeless::Skip })
}

/// Returns the slots that are left for clones.
fn free(problem: &ShedProblem) -> u64 {
    (problem.slots - problem.reserved) as u64 - problem.jobs.iter().map(|job| job.tasks).sum::<u64>()
}

fn pocds(problem: &ShedProblem, clones: &[u32]) -> Vec<f64> {
    problem.jobs.iter().zip(clones).map(|(job, clones)| job.miss.pocd(job.tasks, *clones)).collect()
}

fn least(pocds: &[f64]) -> f64 {
    pocds.iter().copied().fold(f64::INFINITY, f64::min)
}

fn mean(pocds: &[f64]) -> f64 {
    pocds.iter().sum::<f64>() / pocds.len() as f64
}

/// Returns the largest value of an objective over all numbers of clones that fit.
fn best(problem: &ShedProblem, objective: fn(&[f64]) -> f64) -> f64 {
    fn search(problem: &ShedProblem, free: u64, clones: &mut Vec<u32>, objective: fn(&[f64]) -> f64) -> f64 {
        let Some(job) = problem.jobs.get(clones.len()) else { return objective(&pocds(problem, clones)) };
        let mut largest = f64::NEG_INFINITY;
        for count in 0..=free / job.tasks {
            clones.push(count as u32);
            largest = largest.max(search(problem, free - count * job.tasks, clones, objective));
            clones.pop();
        }
        largest
    }
    search(problem, free(problem), &mut Vec::new(), objective)
}

/// Returns what the greedy choice loses of an objective in each instance.
fn losses(objective: fn(&[f64]) -> f64) -> Result<Vec<f64>, String> {
    let loss = |number: u64| {
        let problem = instance(number)?;
        Ok(best(&problem, objective) - objective(&pocds(&problem, &greedy(&problem).clones)))
    };
    (0..INSTANCES).map(loss).collect()
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

pub(super) fn least_pocd() -> Result<Vec<Measured>, String> {
    let lost = largest(&losses(least)?);
    one("the lowest PoCD of the jobs under the best numbers of clones minus that under Algorithm 1, at most", lost, "")
}

pub(super) fn mean_pocd() -> Result<Vec<Measured>, String> {
    let lost = 100.0 * largest(&losses(mean)?);
    let value = "the mean PoCD of the jobs under the best numbers of clones minus that under Algorithm 1, at most";
    one(value, lost, "percentage points")
}

pub(super) fn left_over() -> Result<Vec<Measured>, String> {
    let left = |number: u64| {
        let problem = instance(number)?;
        let smallest = problem.jobs.iter().map(|job| job.tasks).min().unwrap_or(0);
        // A number below 0 means that clones of no job fit any more.
        Ok(problem.slots - greedy(&problem).slots_used - smallest as f64)
    };
    let left: Vec<f64> = (0..INSTANCES).map(left).collect::<Result<_, String>>()?;
    one("slots that Algorithm 1 leaves free minus the tasks of the smallest job, at most", largest(&left), "slots")
}

pub(super) fn alone() -> Result<Vec<Measured>, String> {
    let miss = MissChance::submitted(ParetoTail::new(1.0, 2.0).map_err(text)?, 2.0);
    let difference = |slots: u64, tasks: u64| {
        let jobs = vec![ShedJob::new(tasks, miss)];
        let problem = ShedProblem { jobs, slots: slots as f64, reserved: 1.0, hopeless: Hopeless::Skip };
        f64::from(solve(&problem).clones[0].abs_diff(greedy(&problem).clones[0]))
    };
    let all = (1..=200).flat_map(|slots| (1..=60).map(move |tasks| difference(slots, tasks)));
    let value = "difference between line 5 and lines 8 to 21 for one job, 1 to 200 slots and 1 to 60 tasks, at most";
    one(value, all.fold(0.0, f64::max), "clones")
}

/// The largest loss, and the share of the instances in which the greedy choice is not the best.
pub(super) fn objectives_table() -> Result<DataTable, String> {
    let row = |name: &str, objective: fn(&[f64]) -> f64| {
        let losses = losses(objective)?;
        let worse = losses.iter().filter(|loss| **loss > 1e-12).count() as f64 / losses.len() as f64;
        let numbers = [100.0 * worse, 100.0 * mean(&losses), 100.0 * largest(&losses).max(0.0)];
        Ok(std::iter::once(Cell::from(name)).chain(numbers.map(Cell::from)).collect())
    };
    let rows: Result<Vec<Vec<Cell>>, String> =
        [row("lowest PoCD of the jobs", least), row("mean PoCD of the jobs", mean)].into_iter().collect();
    Ok(DataTable::new(
        "What Algorithm 1 loses against the best numbers of clones, in 500 random instances of two to four jobs",
        ["what is maximised", "not the best (% of instances)", "mean loss (points)", "largest loss (points)"]
            .map(str::to_owned)
            .to_vec(),
        rows?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(jobs: [(u64, f64); 2], free: u64) -> ShedProblem {
        let tail = ParetoTail::new(1.0, 2.0).unwrap();
        let jobs = jobs.map(|(tasks, deadline)| ShedJob::new(tasks, MissChance::submitted(tail, deadline))).to_vec();
        let tasks: u64 = jobs.iter().map(|job| job.tasks).sum();
        ShedProblem { jobs, slots: (tasks + 2 + free) as f64, reserved: 2.0, hopeless: Hopeless::Skip }
    }

    #[test]
    fn the_best_numbers_of_clones_are_found() {
        // t_min/D = 1/2: a task misses with 1/4, with a clone with 1/16. Jobs of 1 and 2 tasks, two slots. Clones of the
        // first: (1 − 1/64, (3/4)²) = (0.984, 0.5625). Clones of the second: (3/4, (15/16)²) = (0.75, 0.8789).
        let two = problem([(1, 2.0), (2, 2.0)], 2);
        assert_eq!(free(&two), 2);
        assert!((best(&two, least) - 0.75).abs() < 1e-12);
        assert!((best(&two, mean) - f64::midpoint(0.75, 225.0 / 256.0)).abs() < 1e-12);
        // The second job has the lower PoCD, so Algorithm 1 takes the same.
        assert_eq!(greedy(&two).clones, [0, 1]);
    }

    #[test]
    fn the_mean_can_be_higher_than_that_of_the_greedy_choice() {
        // Three tasks with t_min/D = 10/11, three slots: PoCD (1 − 100/121)³ = 0.00523, with a clone
        // (1 − (100/121)²)³ = 0.0318. One task with t_min/D = 1/2: 0.75, with three clones 1 − 1/256 = 0.996. The greedy
        // choice helps the first, which gains 0.027; the second one would gain 0.246.
        let two = problem([(3, 1.1), (1, 2.0)], 3);
        assert_eq!(greedy(&two).clones, [1, 0]);
        let lost = best(&two, mean) - mean(&pocds(&two, &greedy(&two).clones));
        let expected = (0.246_09 - ((1.0 - 0.826_446_f64.powi(2)).powi(3) - (1.0 - 0.826_446_f64).powi(3))) / 2.0;
        assert!((lost - expected).abs() < 1e-4, "{lost}, expected {expected}");
    }
}
