//! What is counted of applications.

/// Counts of one application or several, and what was odd about them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub applications: u64,
    pub jobs: u64,
    pub stages: u64,
    pub skipped_stages: u64,
    pub resubmitted_stages: u64,
    pub barrier_stages: u64,
    pub tasks: u64,
    pub winners: u64,
    pub speculative_winners: u64,
    pub attempts: u64,
    pub speculative: u64,
    pub failed: u64,
    pub killed: u64,
    pub outputs_lost: u64,
    pub without_job: u64,
    pub speculation_asked: u64,
    pub executors: u64,
    pub excluded_executors: u64,
    pub excluded_hosts: u64,
    /// Milliseconds since 1970.
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// Executors that only task ends tell of.
    pub unannounced: u64,
    /// Task ends that stand in the log twice.
    pub twice: u64,
    /// Ends without any start in the log.
    pub startless: u64,
    /// Starts of attempts that did not end, and ends of such that did not start.
    pub unended: u64,
    pub unstarted: u64,
    /// Task ends that don't say of which task.
    pub nameless: u64,
    /// Successes without a launch or finish time.
    pub untimed: u64,
    /// Attempts that finish before their launch.
    pub backwards: u64,
    /// Tasks of stages that succeeded of which nothing was seen.
    pub missing: u64,
    /// Attempts of later submissions that don't say of which task they are, and tasks that may have succeeded in one.
    pub unmatched: u64,
    pub unmatched_winners: u64,
    /// Task ends of stages let go long before.
    pub late: u64,
    /// Applications without a start.
    pub beheaded: u64,
    /// Applications without an end, except for those known to be cut.
    pub endless: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Tally) {
        self.applications += other.applications;
        self.jobs += other.jobs;
        self.stages += other.stages;
        self.skipped_stages += other.skipped_stages;
        self.resubmitted_stages += other.resubmitted_stages;
        self.barrier_stages += other.barrier_stages;
        self.tasks += other.tasks;
        self.winners += other.winners;
        self.speculative_winners += other.speculative_winners;
        self.attempts += other.attempts;
        self.speculative += other.speculative;
        self.failed += other.failed;
        self.killed += other.killed;
        self.outputs_lost += other.outputs_lost;
        self.without_job += other.without_job;
        self.twice += other.twice;
        self.startless += other.startless;
        self.backwards += other.backwards;
        self.missing += other.missing;
        self.unmatched += other.unmatched;
        self.unmatched_winners += other.unmatched_winners;
        self.speculation_asked += other.speculation_asked;
        self.executors += other.executors;
        self.excluded_executors += other.excluded_executors;
        self.excluded_hosts += other.excluded_hosts;
        self.from = self.from.into_iter().chain(other.from).min();
        self.to = self.to.max(other.to);
        self.unannounced += other.unannounced;
        self.unended += other.unended;
        self.unstarted += other.unstarted;
        self.nameless += other.nameless;
        self.untimed += other.untimed;
        self.late += other.late;
        self.beheaded += other.beheaded;
        self.endless += other.endless;
    }
}
