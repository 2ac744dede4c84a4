//! Distinguishes jobs of one name that do different work, if the output has `SubmitLine`.
//!
//! Jobs are of one kind if the commands that submitted them differ by numbers only. Where commands name a file of each job, nearly every
//! job would be a kind of its own, which nothing could be compared with: then the name is the kind, as without this column.

use rustc_hash::FxHashMap;

use crate::tasks::Collector;

/// The most kinds that are distinguished; further ones go by their name.
const MOST: usize = 10_000;
/// Fewest jobs of a kind on average, as of a phase that can have a straggler.
const FEWEST: u64 = 4;

/// The kinds of jobs.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    /// The name of the jobs of each kind, and their number.
    kinds: FxHashMap<Box<str>, (Box<str>, u64)>,
}

impl Kinds {
    /// Adds a job, and writes its kind to `kind`.
    pub(super) fn add(&mut self, name: &str, command: &str, kind: &mut String) {
        kind.push_str(name);
        if command.is_empty() {
            return;
        }
        kind.push_str(": ");
        for (at, part) in command.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).enumerate() {
            kind.push_str(if at > 0 { "#" } else { "" });
            kind.push_str(part);
        }
        if let Some((_, jobs)) = self.kinds.get_mut(kind.as_str()) {
            *jobs += 1;
        } else if self.kinds.len() < MOST {
            self.kinds.insert(kind.as_str().into(), (name.into(), 1));
        } else {
            kind.truncate(name.len());
        }
    }

    /// Gives jobs back the name as their kind where commands distinguish too many kinds.
    pub(super) fn end(self, collector: &mut Collector) {
        let mut of_names: FxHashMap<&str, (u64, u64)> = FxHashMap::default();
        for (name, jobs) in self.kinds.values() {
            let (kinds, all) = of_names.entry(name).or_default();
            (*kinds, *all) = (*kinds + 1, *all + jobs);
        }
        let are_too_many = |name: &str| of_names.get(name).is_some_and(|(kinds, jobs)| *jobs < FEWEST * kinds);
        let joined = self.kinds.iter().filter(|(_, (name, _))| are_too_many(name));
        collector.join_phases(&joined.map(|(kind, (name, _))| (&**kind, &**name)).collect());
    }
}

#[cfg(test)]
mod tests {
    use crate::format::TaskFormat;
    use crate::testing::rows::found;

    /// Returns the number of phases and of stragglers among 24 jobs of one name, every third of which runs `second`. It takes 30 s, others 10 s.
    fn phases(first: fn(u32) -> String, second: fn(u32) -> String) -> (u64, u64) {
        let mut log = "JobID|JobName|State|Start|End|NodeList|SubmitLine\n".to_owned();
        for number in 0..24_u32 {
            let (command, takes) = if number % 3 == 0 { (second(number), 30) } else { (first(number), 10) };
            let start = 1_700_000_000 + 40 * number;
            log += &format!("{}|wrap|COMPLETED|{start}|{}|n{}|{command}\n", 90 + number, start + takes, number % 4);
        }
        let found = found(&log, TaskFormat::Slurm);
        (found.summary.stages, found.findings.stragglers.tasks)
    }

    #[test]
    fn commands_that_differ_by_numbers_are_one_kind() {
        let fit = |number: u32| format!("sbatch --wrap ./fit --seed {number} in-{number}.csv");
        assert_eq!(phases(fit, |number| format!("sbatch --wrap ./plot {number}")), (2, 0));
        // Without another command, those that take 30 s are long.
        assert_eq!(phases(fit, fit), (1, 8));
    }

    #[test]
    fn a_file_of_each_job_makes_no_kinds() {
        let of_file = |number: u32| format!("sbatch align.sh {}.fq", ('a'..='z').nth(number as usize).unwrap());
        assert_eq!(phases(of_file, of_file), (1, 8));
    }
}
