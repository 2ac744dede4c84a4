//! The sources of the systems.

use super::{ALAMRO, PAPER, Source, XU_ALAMRO, XU_LAU, XU_LIU_LAU, ZHOU};

/// The source of `none`.
pub const NONE: Source = Source {
    work: "the baseline",
    section: "noSpec in Zhou, Phan, Ibrahim & He 2018, section 6.1",
    basis: PAPER,
    deviations: &["None known: no task gets a copy while another copy of it runs."],
};

/// The source of `hadoop`.
pub const HADOOP: Source = Source {
    work: "Apache Hadoop MapReduce, DefaultSpeculator",
    section: "Hadoop 3.3, package org.apache.hadoop.mapreduce.v2.app.speculate: DefaultSpeculator.java (speculationValue, \
        maybeScheduleASpeculation), StartEndTimesBase.java, LegacyTaskRuntimeEstimator.java and \
        SimpleExponentialTaskRuntimeEstimator.java",
    basis: "the source code of the program",
    deviations: &[
        "A phase stands for a task type (maps or reduces).",
        "The remaining time of an attempt comes from the progress model. Hadoop divides the elapsed time by the progress, \
            which gives the same for attempts of constant rate. An attempt whose remaining time is unknown counts with \
            the remaining time expected from its age; in live runs it is skipped until durations of its phase are known.",
        "An attempt that sends no reports is not treated in a special way. Hadoop simulates a report without progress \
            after 9 s of silence.",
        "With estimator=exponential, the remaining time comes from the progress model from the 25th report on. Hadoop \
            smooths the rate exponentially.",
        "A backup that waits for free resources comes after all originals of the order of jobs, except under the order \
            capacity. In Hadoop it is a request of its job like any other.",
        "Every phase is scanned. Hadoop scans only the task types whose speculation is on (mapreduce.map.speculative, \
            mapreduce.reduce.speculative).",
        "Times are exact. Hadoop cuts estimates to whole milliseconds.",
        "Scans happen at the first decision at or after their time. Application masters take no resources and start \
            with their jobs.",
        "mapreduce.job.speculative.slowtaskthreshold is not a parameter, because Hadoop computes this threshold but \
            does not compare anything with it.",
    ],
};

/// The source of `spark`.
pub const SPARK: Source = Source {
    work: "Apache Spark 4.3.0, TaskSetManager (spark.speculation)",
    section: "core/src/main/scala/org/apache/spark/scheduler/: TaskSetManager.scala (checkSpeculatableTasks, \
        dequeueTaskFromList), TaskSchedulerImpl.scala; util/collection/PercentileHeap; defaults of Spark 4",
    basis: "the classes of the release, and event logs of runs with it",
    deviations: &[
        "The attempt that has run longest gets its backup first. Spark chooses among the slow tasks of a stage by data \
            locality.",
        "Backups start after the pending tasks of all jobs. In Spark, backups of a stage come after its own pending \
            tasks, but before those of stages that are served later.",
        "A node stands for an executor. Its host is what follows the last @ of its name, as in replays of Spark's logs, or else \
            the node itself.",
        "On a cluster of one host, a backup may run beside its original, as under other policies. Spark starts none on a \
            single host.",
        "duration_threshold counts the slots of the largest node. In Spark all executors are alike, and on a standalone \
            cluster without spark.executor.cores one slot counts.",
        "Spark starts no copies in barrier stages, whose tasks must run at the same time. Phases here are not of this kind.",
        "An attempt is marked as slow, and no longer so once it has failed. In Spark the task is marked, so its next attempt \
            may get a copy at once.",
        "The test of efficiency has no effect, as in Spark 4.3: the rate of a running task comes from accumulators that its \
            heartbeats report, and its run time there is 0 until it ends. live_rates=true makes the test with the size of a \
            task's input divided by the duration of the attempt, where Spark would take the records read so far. Tasks of \
            unknown input count as equally large. The rate is 0 until the progress model reveals when the attempt finishes.",
        "Versions before 4 have other defaults (quantile=0.75, multiplier=1.5), and older ones take the mean of the middle two \
            durations as the median of an even number.",
        "Tasks that had finished before their job arrived do not count for the quantile and the median.",
    ],
};

/// The source of `late`.
pub const LATE: Source = Source {
    work: "Zaharia et al., Improving MapReduce Performance in Heterogeneous Environments, OSDI 2008",
    section: "section 4 (LATE: Longest Approximate Time to End)",
    basis: "The paper's text was not at hand. Xu & Lau 2015, section II, describe the progress rate, the threshold on it, \
        the longest remaining time first and the limit on backups. The defaults of the thresholds, the minute, the summed \
        progress of nodes and the order of the steps are given from memory.",
    deviations: &[
        "min_age is 0 by default, because durations in a scenario may have any scale. In the paper, an attempt must have \
            run for one minute: late(min_age=60).",
        "A rate is one over the attempt's expected duration. It is known when the progress model reveals the end, not \
            from the start. In a live run it is updated when a later measurement differs.",
        "With the progress model age no rate is known. An attempt is then slow once its expected duration, given its \
            age, is above the same percentile of the phase's distribution.",
        "The percentile of rates also counts finished attempts of the phase. Otherwise the last attempt of a phase would be \
            compared with itself.",
        "A node's progress is the number of attempts that it has finished, plus one half for each attempt that it runs. The \
            paper sums the progress of finished and running tasks.",
        "The first node with free resources that is not slow gets the backup. In the paper, it is the node that requests \
            a task.",
        "Pending tasks of all jobs start before any backup. In Hadoop of that time, a job's backups came before the \
            pending tasks of the next job: originals_first=false.",
        "Hadoop 0.21 has other thresholds than the paper. slow_by=deviation with slow_task=1 and min_age=60 are its test of \
            tasks (canBeSpeculated in TaskInProgress.java). A job may always run 10 backups there, which is a cap of 10 \
            divided by the slots here. Its test of nodes, by the mean duration of their tasks, is not built.",
    ],
};

/// The source of `riski`.
pub const RISKI: Source = Source {
    work: super::RISKI,
    section: "section 6 (algorithm 2, figures 8 and 9); predictions by section 5 with knowledge = profiles",
    basis: "The text of the paper without its formulas and figures, which were missing in it.",
    deviations: &[
        "The remaining time of the straggler is conditioned on the time for which it has run and, once known, on its \
            progress. The paper predicts from profiles alone: progress=false.",
        "Pending tasks of all jobs start before any backup. In Hadoop 0.21, a job's backups come before the pending tasks of \
            the next job: originals_first=false.",
        "The straggler is the task with the longest expected remaining time, at any age. The paper's text compares the age \
            with the average execution time of the running tasks: overdue=1.",
        "The straggler is the last task with a single running copy. A task with two copies counts with the smaller of their \
            expected remaining times, as one of the other tasks.",
        "Once an attempt has run for longer than its whole range, its remaining time is that of the Pareto distribution with \
            the mean and spread of the phase's profiles, at its age. The paper's text does not say what is expected then.",
        "Only attempts that finish leave profiles. A straggler or backup that was stopped leaves none, however long it ran.",
        "Durations on nodes without enough profiles come from other nodes, converted by the speeds that policies know: the \
            real ones with speeds = known, which a system without profiles would not know; 1 at first with speeds = learned.",
        "Every positive gain starts a backup, also one that comes only from the chance of few profiles. The kill trusts the \
            largest of a few observed durations as a bound.",
        "With gain=race, which the paper does not have, the straggler is expected to run on beside its backup.",
        "price and backups are limits that the paper does not have. A price of 0 has no effect.",
        "A phase takes the place of the paper's job, and gets no backups while one of its tasks is pending.",
        "The straggler's own node gets no backup of it.",
        "Under other progress models than profiles, ranges follow from the distribution of the phase in 20 equally likely \
            parts. Nodes then differ by their speed only, so the fastest one with free resources is chosen.",
        "The size of the output is no factor of similarity, because it is not known before a task ends.",
        "Under the progress model profiles at most compare nodes with free resources are compared, and a phase whose backup \
            gains nothing is examined again after check mean durations. The paper compares all nodes of its small cluster.",
    ],
};

/// The source of `mcp`.
pub const MCP: Source = Source {
    work: "Chen, Liu & Xiao, Improving MapReduce Performance Using Smart Speculative Execution Strategy, IEEE Transactions on \
        Computers 63(4), 2014",
    section: "MCP: selection of slow tasks, remaining time, cost-benefit model, slow nodes",
    basis: "The paper's text was not at hand. Its abstract was: it names progress rate and process bandwidth within a phase, the \
        moving average, a cost-benefit model with the load of the cluster, data locality and data skew. Formulas and numbers \
        are given from memory.",
    deviations: &[
        "min_age is 0 by default, because durations in a scenario may have any scale. In the paper, an attempt must have \
            run for one minute: mcp(min_age=60).",
        "A phase is one stage of progress. In the paper, map and reduce tasks have several, which are compared and predicted \
            separately.",
        "A rate is known once the progress model reveals the attempt's end, and changes when another end is reported. With the \
            progress model age no rate is known, and no backup starts.",
        "An attempt is slow below the mean of its phase, and a node below the 25th percentile of nodes, as in LATE. The \
            paper's thresholds were not at hand.",
        "A backup starts on any node that is not slow, near the task's input if that is known. In the paper it is the node that \
            requests a task.",
    ],
};

/// The source of `mantri`.
pub const MANTRI: Source = Source {
    work: "Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters using Mantri, OSDI 2010",
    section: "rule=xu2015, the default: section II of Xu & Lau 2015, who state the rule for their baseline; \
        rule=osdi2010: section 5.1 (Resource-aware Restart) and Pseudocode 1 of the OSDI paper",
    basis: "rule=xu2015: the text of Xu & Lau 2015. rule=osdi2010: the OSDI paper's text was not at hand. Published notes on \
        it confirm the time between reports, the two kinds of restart, that a kill needs a better than even chance, the \
        condition of saved resources while tasks wait, and that duplicates are more generous otherwise. Xu & Lau 2015 \
        confirm delta = 0.25 and the factor 2 for one running copy. The other formulas, their order, max_restarts = 3, \
        copies = 2 and spare = 3 are given from memory.",
    deviations: &[
        "The default is not the rule of the OSDI paper (rule=osdi2010), but the one of Xu & Lau 2015, so that their \
            experiments can be repeated. It differs from the OSDI paper: the factor is 2 and a task has at most two \
            copies, where the OSDI paper has (c + 1)/c for c copies and up to three of them; the test is the same \
            whether tasks wait or not; and stragglers are stopped only with kill_restart=true, by the test for a backup, \
            and replaced on the same node.",
        "rule=xu2015: a straggler is replaced at most max_restarts times, and only if a new copy on its node is expected \
            to end sooner. Xu & Lau state no limit; without one, a task might be replaced for ever.",
        "rule=osdi2010: tasks of any job count as waiting, because jobs share nodes. In the paper, each job has its own \
            manager.",
        "rule=osdi2010: all stragglers are helped before the first waiting task starts. Pseudocode 1 starts a waiting \
            task after each restart and duplicate; it is marked as simplified.",
        "rule=osdi2010: the rule decides whenever resources become free or the progress model reveals something, not only \
            when a report arrives. While the remaining time of a copy is unknown, its task gets no other copy, and this \
            copy is neither counted nor stopped as a slow one.",
        "rule=osdi2010: only a task with one copy is killed and restarted.",
        "rule=osdi2010: a task gets at most max_duplicates (10) duplicates in all. As far as we know, the paper limits \
            only how many run at the same time.",
        "rule=osdi2010: while no task waits, a backup must save time: E[t_rem - t_new] > spare x report. Pseudocode 1 \
            prints E[t_new - t_rem], which must be a misprint.",
        "rule=osdi2010: the duration of a new copy has the distribution of the phase's durations, divided by the speed of \
            the node. The paper (section 5.5) predicts it from the size of the input, the location and the queueing delay.",
        "Placement by network load, replication of outputs and the order of tasks by the size of their input (sections \
            5.2 to 5.4) are not built.",
    ],
};

/// The source of `window`.
pub const WINDOW: Source = Source {
    work: ZHOU,
    section: "section 5.1 (window-based reservation) and section 5.2 (Algorithm 1, opportunistic rescheduling)",
    basis: PAPER,
    deviations: &[
        "What the paper calls a job is a phase of a job here, because tasks of other phases have other durations.",
        "The paper does not say how stragglers are detected. Here an attempt is a straggler if its progress rate is below \
            half (slow) of its phase's mean rate and its remaining time is known.",
        "A window is at least 10 ms and a twentieth of the mean task long, and a thousandth of the longest straggler's \
            expected duration. Otherwise tasks that end at once make windows arbitrarily short.",
        "If more than 32 nodes have free resources now, about the 32 fastest ones by history are scanned, and at most 64 \
            slots that come free later. Slots that cannot beat the best one found are not scanned.",
        "A straggler that cannot save time and energy on any slot is not tested again until its expected end changes.",
        "A slot whose expected time has passed is not counted, because the time at which it comes free is unknown.",
        "The last non-straggling task of a node may belong to another phase. A copy is then expected to exceed the mean of \
            its own phase by the same factor. On a node without such a task it takes the mean duration on a node of this \
            speed.",
        "The test that the residual time exceeds the copy's duration is not made, because it follows from the saved time.",
        "Rescheduling is tried with all stragglers of positive scores if there are at most three. The paper triggers it \
            only if k < i - 1.",
        "Transfers of input are not distinguished unless bandwidth is given. If some node has no power model, a busy core \
            counts as equal on all nodes, so that energies are in core-seconds.",
        "The order of jobs decides whether a job may have another copy, when its slot is reserved and when its copy starts.",
    ],
};

/// The source of `hete_aware`.
pub const HETE_AWARE: Source = Source {
    work: ZHOU,
    section: "section 6.1 (Hete-aware, a baseline) and section 5.2 (Algorithm 1)",
    basis: PAPER,
    deviations: &[
        "Copies start when no task of the phase is pending. The paper says: at the end of the job execution.",
        "Stragglers are detected at the start of each window, as under window. The paper does not say how often.",
        "Stragglers are detected, durations predicted and slots scanned as under window, with the same differences from \
            the paper.",
    ],
};

/// The source of `sca`.
pub const SCA: Source = Source {
    work: XU_LAU,
    section: "section IV-A (problem P2) and section IV-B (Algorithm 1, Smart Cloning Algorithm)",
    basis: PAPER,
    deviations: &[
        "P2 is solved exactly, in whole numbers of copies. The paper uses a gradient projection whose printed step sizes do \
            not converge in its own example (Fig. 1); `hindmost theory clones` has it.",
        "The paper's jobs have one phase. Here each open phase of a new job counts as a job of its own in P2. Phases that \
            open later get one copy of each task.",
        "Decisions are made whenever something changes. In the paper they are made at the beginning of each time slot, as in \
            a scenario with slots.",
        "max_copies is 8, as in Fig. 1. The paper does not state the limit of its large experiment.",
    ],
};

/// The source of `sda`.
pub const SDA: Source = Source {
    work: XU_LAU,
    section: "section V (Straggler Detection Algorithm), Eq. 26 to 28 and Theorem 3",
    basis: PAPER,
    deviations: &[
        "The number of copies is searched up to max_copies. Theorem 3 states that two copies are best, which is wrong for very \
            heavy tails and for durations that can be very short.",
        "In Eq. 26 the second integrand is G(t). The integral of the printed 1 - G(t) diverges.",
        "The cluster's placement chooses the machine of a backup. The paper takes a random idle machine: placement random.",
        "The progress model says when a remaining time becomes known. In the paper it is known after a fraction s_i of the \
            work, which is not stated.",
        "A straggler that had to wait for resources is tested again. It gets no backup once its remaining time is short.",
    ],
};

/// The source of `ese`.
pub const ESE: Source = Source {
    work: XU_LAU,
    section: "section VI (Algorithm 2, Enhanced Speculative Execution), Eq. 29 to 33",
    basis: PAPER,
    deviations: &[
        "The cluster's placement chooses the machine of a copy. The paper takes a random idle machine: placement random.",
        "The progress model says when a remaining time becomes known, and the rule decides whenever resources are free. In \
            the paper, remaining times are estimated at the beginning of each time slot.",
        "The paper's jobs have one phase. In a job of several phases, the tasks of its open phases count.",
        "Eq. 29 is maximised over at most max_copies copies. The paper states no limit.",
        "If fewer nodes are free than a small job needs, every task gets its first copy before any task gets its second. \
            The paper does not say what happens then.",
    ],
};

/// The source of `auto`.
pub const AUTO: Source = Source {
    work: "Hindmost's own",
    section: "crates/hindmost-policies/src/speculation/auto.rs",
    basis: "no publication: the module's documentation describes the algorithm",
    deviations: &["None: there is no other description to differ from."],
};

/// The source of `pace`.
pub const PACE: Source = Source {
    work: "Hindmost's own",
    section: "crates/hindmost-policies/src/speculation/pace.rs",
    basis: "no publication: the module's documentation describes the algorithm",
    deviations: &["None: there is no other description to differ from."],
};

/// The source of the system `dollymp`: its clones.
pub const DOLLYMP: Source = Source {
    work: XU_LIU_LAU,
    section: "section 5 (Algorithm 2) and section 5.2 (application master)",
    basis: PAPER,
    deviations: &[
        "When a copy has finished, all other copies of its task are stopped (keep=none). The paper's application master keeps \
            one other running copy, the one with the best locality: keep=best_locality. With at most one clone for each \
            task, no copy would then ever be stopped.",
        "Clones start after originals have been tried on every node, as the text says (clone_pass=after). The loop of \
            Algorithm 2 is printed so that each node starts clones right after its originals: clone_pass=by_node.",
        "There is no limit on clones by default. The paper sets delta = 0.3 and does not define it; delta is read as the \
            share of the cluster that clones may hold.",
        "A node runs at most one copy of a task, as in Eq. 5. In Figure 2 the only server runs two: per_node=2.",
        "Delay assignment (section 5.2) is a setting of the scenario's network (assignment), not of this policy.",
        "The differences of the order dollymp apply too.",
    ],
};

/// The source of `dolly`.
pub const DOLLY: Source = Source {
    work: "Ananthanarayanan et al., Effective Straggler Mitigation: Attack of the Clones, NSDI 2013",
    section: "section 3 (full cloning of small jobs, the budget, admission control for a job)",
    basis: "The paper's text was not at hand. Its abstract and published notes on it confirm full cloning of small jobs, a \
        budget of 5%, and that other techniques serve large jobs. The formulas, the other limits and the section numbers are \
        given from memory.",
    deviations: &[
        "Large jobs, and small jobs that are not admitted, get no backups. In the paper the cluster also ran LATE or Mantri \
            for them; a policy here has one system.",
        "Delay assignment (section 5) is not part of the policy. It is a setting of the scenario's network (assignment) and \
            has no effect here, because dolly stops the other upstream copies when a task has finished.",
        "p, the probability that a copy straggles, is a parameter. As far as we know, the paper estimates it from what the \
            cluster ran before.",
        "The limits budget and utilization hold for each resource separately. The paper counts slots.",
        "An admitted job claims budget for the copies of all its phases at once, and is admitted or rejected only once.",
        "A clone starts only on a node that runs no other copy of its task. Tasks of phases that are not idempotent get no \
            clones.",
        "With admission=clones, which the paper does not have, only clones count for the limits.",
    ],
};

/// The source of `shed`.
pub const SHED: Source = Source {
    work: ALAMRO,
    section: "Algorithm 1 and the theorems (R_su and R_ru)",
    basis: PAPER,
    deviations: &[
        "A job whose probability of meeting the deadline no clone raises is skipped (hopeless=skip). The printed algorithm \
            gives it every slot that is left once its probability is the lowest, because it remains the lowest: hopeless=clone.",
        "Where a base of the formulas is 1 or more, the probability is 0. The printed formulas give other values there.",
        "The number of clones is never negative. The printed formula for one job is, if its tasks do not fit.",
        "Jobs with the same probability are served by id, and probabilities are compared by their logarithms, so that those \
            that round to 1 differ. The paper does not say how ties are broken.",
        "R for running jobs assumes that all copies of a task continue from the progress of the job. Here the clones \
            continue from the progress of their task, and copies that run already keep their own. The paper does not say \
            how clones of running tasks start. start=restart starts them from the beginning; with a the mean age of the \
            unfinished tasks and L the time left, R is then [1 - (max(a, t_min)/(a + L))^beta x min(1, t_min/L)^(beta \
            r)]^N, which is not in the paper. With L below t_min no clone raises R.",
        "Copies beyond the new number of clones are stopped. The paper does not say what happens to them; its count of free \
            slots assumes it. stop_surplus=false keeps them.",
        "Clones are also chosen again when a phase opens and when a node is lost or returns. The paper's jobs have one phase.",
        "With n times as many open phases as exact says, clones are chosen again only at every n-th of these times. The paper \
            chooses at each arrival, which takes a time in proportion to the square of the number of jobs.",
        "In a live run no application master exists, and it gets no slot (masters=auto). The clones are chosen again when \
            durations become known.",
        "reoptimise=arrival_and_end and kill=deadline, which the paper does not have, let jobs use slots sooner.",
        "Demands of several resources are counted in slots of the most modest demand. The paper counts slots.",
        "A node runs at most one copy of a task, so that r is at most the number of nodes minus 1, and the slots above this go \
            to other jobs or stay idle. The paper counts the slots of all machines and has no such limit: per_node. Free slots \
            are counted without regard to their nodes, so a clone may wait for a slot on a node without its task.",
    ],
};

/// The source of `chronos`.
pub const CHRONOS: Source = Source {
    work: XU_ALAMRO,
    section: "the strategies Clone, Speculative-Restart and Speculative-Resume, their PoCD, and the utility",
    basis: "The paper's text was not at hand. The strategies, the three probabilities and the form of the utility are given \
        from memory. Expected machine times are derived from the strategies, and checked by simulation.",
    deviations: &[
        "E(T) is exact for the strategies as described, also where attempts end before tau_kill. The paper assumes that none \
            does.",
        "R_min is by default the PoCD of the job with r = 0. In the paper, as far as we know, it is the PoCD that a job must \
            have, such as that of Hadoop without speculation.",
        "The utility is log10(R(r) - R_min) - theta x E(T), with the logarithm to the base 10, which sets the scale of theta.",
        "theta contains the price of machine time. The paper has both, and varies theta.",
        "A node runs at most one copy of a task, and r is chosen without regard to this: on fewer than r + 1 nodes some of \
            the attempts never start.",
        "tau_est and tau_kill are multiples of the shortest duration. Their defaults were chosen here.",
        "An attempt whose remaining time is not known at tau_est is tested when it becomes known. The paper estimates all \
            remaining times at tau_est from the progress.",
        "At tau_kill the finish of an attempt may be unknown, which the paper does not consider. An attempt that is known to meet \
            the deadline is ahead of all whose finish is unknown; one that is known to miss it is ahead of none of them that may \
            end sooner. Otherwise the expected finish given the age counts. Only an attempt with another one ahead of it is \
            stopped, so that several continue while nothing distinguishes them.",
        "A replacement starts from the beginning if the progress of the original is unknown. The probabilities assume that it \
            is known at tau_est.",
        "r is tried up to max. The paper states no limit.",
        "In a job of several phases, each phase has a part of the time until the deadline, and an r of its own.",
    ],
};
