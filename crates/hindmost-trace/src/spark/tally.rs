//! What is counted of applications.

/// Defines a struct of counts that can be added up.
macro_rules! counts {
    ($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $count:ident,)* }) => {
        $(#[$about])*
        pub(super) struct $name {
            $($(#[$of])* pub $count: u64,)*
            /// Earliest and latest time, milliseconds since 1970.
            pub from: Option<i64>,
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
    /// Counts of one application or several, and what was odd about them.
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
        speculation_asked,
        executors,
        excluded_executors,
        excluded_hosts,
        /// Executors that only task ends tell of.
        unannounced,
        /// Task ends that stand in the log twice.
        twice,
        /// Ends without any start in the log.
        startless,
        /// Starts of attempts that did not end, and ends of such that did not start.
        unended,
        unstarted,
        /// Task ends that don't say of which task.
        nameless,
        /// Successes without a launch or finish time.
        untimed,
        /// Attempts that finish before their launch.
        backwards,
        /// Tasks of stages that succeeded of which nothing was seen.
        missing,
        /// Attempts of later submissions that don't say of which task they are, and tasks that may have succeeded in one.
        unmatched,
        unmatched_winners,
        /// Task ends of stages let go long before.
        late,
        /// Applications without a start.
        beheaded,
        /// Applications without an end, except for those known to be cut.
        endless,
    }
}
