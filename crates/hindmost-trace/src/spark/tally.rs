//! Counts that are collected for each application.

/// Defines a struct of counts that can be added up.
macro_rules! counts {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $count:ident,)* }) => {
        $(#[$about])*
        pub(super) struct $name {
            $($(#[$of])* pub $count: u64,)*
            /// The earliest time in the log, in milliseconds since 1970.
            pub from: Option<i64>,
            /// The latest time in the log, in milliseconds since 1970.
            pub to: Option<i64>,
        }

        impl $name {
            pub(super) fn add(&mut self, other: &$name) {
                $(self.$count += other.$count;)*
                self.from = self.from.into_iter().chain(other.from).min();
                self.to = self.to.max(other.to);
            }
        }
    };
}

counts! {
    /// Counts of one or several applications, including irregularities.
    #[derive(Clone, Copy, Debug, Default)]
    Tally {
        applications,
        jobs,
        stages,
        skipped_stages,
        resubmitted_stages,
        barrier_stages,
        tasks,
        winners,
        speculative_winners,
        attempts,
        speculative,
        failed,
        killed,
        outputs_lost,
        without_job,
        speculation_requests,
        executors,
        excluded_executors,
        excluded_hosts,
        /// Executors that only task end events name.
        unannounced,
        /// Task end events that are in the log twice.
        twice,
        /// Task end events of attempts that also have another end.
        ended_again,
        /// Task end events of a log without any task start event.
        log_without_starts,
        /// Attempts without an end that lost to another attempt, or whose stage was given up.
        without_end,
        /// Other started attempts without an end.
        unended,
        /// Ended attempts without a start.
        unstarted,
        /// Task end events that do not name their task.
        unidentified,
        /// Successful attempts without a launch or finish time.
        untimed,
        /// Attempts that finish before their launch.
        backwards,
        /// Tasks of successful stages without any event.
        missing,
        /// Attempts of later submissions whose task is unknown.
        unmatched,
        /// Tasks without a known success that may have succeeded in such an attempt.
        unmatched_winners,
        /// Applications without a start.
        missing_starts,
        /// Applications without an end, except for those whose log is known to be cut.
        missing_ends,
        /// Jobs that have started and not ended in these.
        open_jobs,
        /// Times for which the driver stood still.
        pauses,
        /// Milliseconds of them.
        paused,
        /// Attempts whose work ended meanwhile.
        ended_in_pauses,
        /// Executors that took no more tasks because they were decommissioned.
        decommissioned,
    }
}
