//! What a job log leaves out, or shows otherwise than it was.

use hindmost_math::statistics::median;

use crate::tasks::Collector;

/// The most jobs whose times are looked at.
const MOST: usize = 1 << 19;
/// Fewest jobs that show a habit.
const FEWEST: usize = 5;
/// To start the next job takes parallel longer than this after an end, in seconds.
const AT_ONCE: f64 = 0.002;
/// The share of the jobs whose end is noticed only when the next one starts.
const MOSTLY: f64 = 0.8;
/// Ends that are noticed together are within this time, in seconds.
const TOGETHER: f64 = 0.005;
/// So many times as long as is usual do jobs seem to take whose end is noticed late.
const LONG: f64 = 3.0;

/// The numbers (`Seq`) of jobs that have a line.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    has_line: Vec<u64>,
    highest: usize,
    count: usize,
}

impl Numbers {
    /// Numbers from this one on are not looked at.
    const MOST: usize = 1 << 26;

    pub(super) fn add(&mut self, text: &str) {
        let Some(number) = text.parse::<usize>().ok().filter(|number| (1..Self::MOST).contains(number)) else { return };
        let (word, bit) = (number / 64, 1 << (number % 64));
        if self.has_line.len() <= word {
            self.has_line.resize(word + 1, 0);
        }
        self.count += usize::from(self.has_line[word] & bit == 0);
        self.has_line[word] |= bit;
        self.highest = self.highest.max(number);
    }

    /// Says how many jobs have no line.
    pub(super) fn end(&self, collector: &mut Collector) {
        let missing = self.highest - self.count;
        if missing > 0 {
            let (have, they) = if missing == 1 { ("1 job has", "It was") } else { ("jobs have", "They were") };
            let missing = if missing == 1 { String::new() } else { format!("{missing} ") };
            collector.issues.note(format!(
                "{missing}{have} no line, by the numbers (Seq) 1 to {}. {they} stopped by parallel before the end, as with --halt now, or \
                 had not ended yet; what ran of them is not counted.",
                self.highest
            ));
        }
    }
}

/// Starts and ends of jobs.
#[derive(Debug, Default)]
pub(super) struct Times(Vec<(f64, f64)>);

impl Times {
    pub(super) fn add(&mut self, start: f64, end: f64) {
        if self.0.len() < MOST {
            self.0.push((start, end));
        }
    }

    /// Says where ends were noticed late.
    pub(super) fn end(mut self, collector: &mut Collector) {
        self.0.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        if self.follows_input() {
            collector.issues.note(
                "Nearly every job ends in the millisecond in which the next one starts, so commands probably came slowly, as through a \
                 pipe: parallel notices an end only when the next command comes, and JobRuntime is not how long a job ran.",
            );
        }
        let late = self.noticed_together();
        if late > 0 {
            collector.issues.note(format!(
                "{late} jobs that were all that ran end together, after more than {LONG} times the usual duration: parallel or its machine \
                 probably stood still (Ctrl-Z), and JobRuntime is not how long they ran.",
            ));
        }
    }

    /// Returns whether jobs end when others start.
    fn follows_input(&self) -> bool {
        let at_once = self
            .0
            .windows(2)
            .filter(|pair| (pair[1].0 - pair[0].1).abs() <= AT_ONCE && pair[0].1 - pair[0].0 > 10.0 * AT_ONCE);
        self.0.len() >= FEWEST && at_once.count() as f64 >= MOSTLY * (self.0.len() - 1) as f64
    }

    /// Returns how many jobs end together with all others that run, at least two, after much more than the usual time.
    fn noticed_together(&self) -> u64 {
        let mut all: Vec<f64> = self.0.iter().map(|(start, end)| end - start).collect();
        let Some(usual) = median(&mut all).filter(|_| self.0.len() >= FEWEST) else { return 0 };
        let (mut late, mut rest) = (0, &self.0[..]);
        while let Some((first, others)) = rest.split_first() {
            // All that run beside each other, until nothing runs.
            let mut end = first.1;
            let count = 1 + others
                .iter()
                .take_while(|(start, ends)| {
                    *start < end && {
                        end = end.max(*ends);
                        true
                    }
                })
                .count();
            let (group, later) = rest.split_at(count);
            // What had started before the end, and ended with it.
            let at_last: Vec<&(f64, f64)> = group.iter().filter(|(_, ends)| end - ends <= TOGETHER).collect();
            if at_last.len() >= 2 && at_last.iter().all(|(start, ends)| ends - start > LONG * usual) {
                late += at_last.len() as u64;
            }
            rest = later;
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_end_when_the_next_one_starts_follow_their_input() {
        let slow: Vec<(f64, f64)> = (0..6).map(|at| (5.0 * f64::from(at), 5.0 * f64::from(at) + 5.001)).collect();
        assert!(Times(slow.clone()).follows_input());
        // One job at a time, which takes parallel 16 ms to start.
        assert!(!Times(slow.iter().map(|(start, end)| (*start, end - 0.016)).collect()).follows_input());
        assert!(!Times(slow[..3].to_vec()).follows_input());
    }

    #[test]
    fn ends_that_are_noticed_together_are_counted() {
        let mut jobs = vec![(0.0, 9.66), (0.04, 9.66), (9.76, 11.8), (9.77, 11.8), (11.9, 14.0), (12.0, 14.0)];
        assert_eq!(Times(jobs.clone()).noticed_together(), 2);
        // One of two jobs hangs.
        jobs[1].1 = 2.0;
        assert_eq!(Times(jobs).noticed_together(), 0);
    }
}
