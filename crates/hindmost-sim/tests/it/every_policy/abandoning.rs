//! Policies that abandon jobs at random.

use hindmost_core::cluster::Job;
use hindmost_core::ids::JobId;
use hindmost_core::policy::{Pass, Policy, Round};
use hindmost_math::random::mix;

use crate::live_like::policy;

/// Abandons, in each round, about one of `one_in` of the jobs that are not over. The choice depends only on the seed, the
/// time and the job, so a replay makes the same one.
struct AtRandom {
    seed: u64,
    one_in: u64,
}

impl Pass for AtRandom {
    fn decide(&mut self, round: &mut Round<'_>) {
        let now = round.cluster().now();
        let drawn = |job: &&Job| mix(mix(self.seed ^ now.0) ^ u64::from(job.id().0)).is_multiple_of(self.one_in);
        let chosen = round.cluster().jobs().filter(|job| !job.is_over()).filter(drawn);
        for job in chosen.map(Job::id).collect::<Vec<JobId>>() {
            assert!(round.abandon(job));
        }
    }
}

/// Returns how many of its jobs, one in so many in each round, a policy of [`abandoning`] abandons.
pub fn one_in(number: u64) -> u64 {
    [1, 3, 10, 40][number as usize % 4]
}

/// Creates a policy with a pass, at any place, that abandons jobs at random.
pub fn abandoning(name: &str, number: u64) -> Policy {
    let pass = AtRandom { seed: number, one_in: one_in(number) };
    policy(name).with_pass(number as usize / 4 % 4, Box::new(pass))
}
