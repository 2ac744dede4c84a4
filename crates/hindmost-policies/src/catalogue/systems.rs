//! The entries of systems and speculation policies.

use hindmost_core::policy::queue_place::Which;

use super::entry::{SystemEntry, system_of};
use super::sources::systems as sources;
use crate::cloning::dolly::{CloneSmallJobs, DollyParameters};
use crate::cloning::ese::{CloneSmallNewJobs, EseParameters};
use crate::cloning::sca::{CloneNewJobs, ScaParameters};
use crate::cloning::shed::{AbandonLateJobs, CloneByDeadline, ShedParameters};
use crate::orders::dollymp::{self, DollympParameters};
use crate::placement::job_by_job::Originals;
use crate::speculation::Speculation;
use crate::speculation::auto::{self, AutoParameters};
use crate::speculation::chronos::{self, ChronosParameters};
use crate::speculation::ese::EseRule;
use crate::speculation::hadoop::{HadoopParameters, HadoopRule};
use crate::speculation::hete_aware::{self, HeteAwareParameters};
use crate::speculation::late::{LateParameters, LateRule};
use crate::speculation::mantri::{MantriParameters, MantriRule, Statement};
use crate::speculation::mantri_osdi::OsdiRule;
use crate::speculation::mcp::{McpParameters, McpRule};
use crate::speculation::pace::{PaceParameters, PaceRule, Restarts};
use crate::speculation::riski::{RiskiParameters, RiskiRule};
use crate::speculation::sda::{SdaParameters, SdaRule};
use crate::speculation::spark::{SparkParameters, SparkRule};
use crate::speculation::window::{ReserveSlots, WindowParameters};

/// The systems, in the order in which they are listed.
pub static SYSTEMS: &[SystemEntry] = &[
    SystemEntry {
        name: "none",
        about: "one copy of each task, no backups and no clones",
        does: "Starts one copy of each task. A task gets another attempt only after its attempt has failed or its \
            node is lost.",
        wins: "Copies cannot help: task durations hardly vary, every copy of a task is equally slow because its work \
            is large, or the cluster is so full that a copy delays other tasks. It spends no slot-time on copies.",
        loses: "Durations have a heavy tail or some nodes are slow: every job then waits for its slowest task. In the \
            built-in scenario quickstart it has the longest mean flowtime (job completion time, JCT) of all systems.",
        passes: "[Originals(order)]",
        source: sources::NONE,
        order: None,
        build: &system_of(|(), policy| policy.originals(Which::Any)),
    },
    SystemEntry {
        name: "hadoop",
        about: "scans of each job; one backup per phase and scan, for the task that is expected to end last",
        does: "Scans each job every second, but only 15 s after a scan that started a backup. A scan may start one backup \
            in each phase that has no pending tasks and at least 5% finished ones. The task that is expected to end \
            last gets it, if a new attempt would end earlier. A new attempt is expected to take as long as the mean \
            finished task.",
        wins: "Jobs run for minutes and have few stragglers. It starts few backups, and it knows durations only from \
            finished tasks, so that wrong expectations do no harm. An attempt without known progress is judged by its \
            age.",
        loses: "Jobs are short or have many stragglers: a phase gets at most one backup in 15 s. While a phase has \
            pending tasks, none of its attempts gets a backup, however slow it is.",
        passes: "[Originals(order), Backups(hadoop rule, one in each phase and scan)]",
        source: sources::HADOOP,
        order: None,
        build: &system_of(|hadoop: HadoopParameters, policy| {
            policy.originals(Which::Any).pass(Speculation::by(HadoopRule::new(hadoop)))
        }),
    },
    SystemEntry {
        name: "spark",
        about: "once most of a phase has finished, a backup for attempts that run several times as long as the \
            median",
        does: "Scans running attempts every 0.1 s. Once a share of a phase's tasks (90% by default) has finished, each \
            attempt that has run longer than a multiple (3 by default) of their median duration gets one backup, on a node \
            on which no attempt of its task has run.",
        wins: "A phase has many similar tasks and a few very slow ones. It starts few backups and wastes little \
            slot-time, because a backup starts only if both conditions hold.",
        loses: "More than 10% of a phase's tasks straggle: with the default parameters, no backup starts before 90% \
            of the tasks have finished and an attempt has run for three median durations. A phase of one task gets no \
            backup without duration_threshold.",
        passes: "[Originals(order), Backups(spark rule: quantile, multiplier, minimum runtime)]",
        source: sources::SPARK,
        order: None,
        build: &system_of(|spark: SparkParameters, policy| {
            policy.originals(Which::Any).pass(Speculation::by(SparkRule::new(spark)))
        }),
    },
    SystemEntry {
        name: "late",
        about: "backups for the slowest quarter by progress rate, the longest remaining time first, on nodes that are \
            not slow",
        does: "An attempt is slow if its progress rate (progress over elapsed time) is below the 25th percentile of \
            its phase. Among slow attempts, the one with the longest estimated remaining time gets a backup first. \
            Backups run only on nodes that are not slow, and on at most 10% of the cluster.",
        wins: "Nodes differ in speed: attempts on slow nodes have low rates, and backups avoid these nodes. The limit \
            on backups bounds their cost under load.",
        loses: "Nodes are equal: some attempts are always below the 25th percentile, so that backups also start for \
            attempts that would end soon. In the built-in scenario quickstart it starts more copies than mantri, but \
            its mean flowtime is longer.",
        passes: "[Originals(order), Backups(late rule, speculative cap)]",
        source: sources::LATE,
        order: None,
        build: &system_of(|late: LateParameters, policy| {
            let (originals_first, pass) = (late.originals_first, Speculation::by(LateRule::new(late)));
            if originals_first {
                policy.originals(Which::Any).pass(pass)
            } else {
                policy.pass(pass).originals(Which::Any)
            }
        }),
    },
    SystemEntry {
        name: "mcp",
        about: "a backup for slow attempts if the time saved is worth the slots, which cost more under load",
        does: "An attempt is slow if its progress rate, smoothed over its reports, and the bytes it processes per second are \
            both below the mean of its phase. The slow attempt with the longest remaining time gets a backup if that time, \
            relative to the duration of a backup, exceeds a ratio that rises from 1 in an idle cluster to 2 in a full one. \
            Backups run only on nodes that are not slow, and are at most 10% of the running attempts.",
        wins: "Inputs of tasks differ and are known: an attempt that is late because it reads more gets no backup.",
        loses: "Progress is not reported, or late. Then no attempt is known to be slow.",
        passes: "[Backups(mcp rule, speculative cap), Originals(order)]",
        source: sources::MCP,
        order: None,
        build: &system_of(|mcp: McpParameters, policy| {
            policy.pass(Speculation::by(McpRule::new(mcp))).originals(Which::Any)
        }),
    },
    SystemEntry {
        name: "mantri",
        about: "a backup if the remaining time exceeds twice that of a new copy with a probability above delta",
        does: "Starts a backup on a free node if the probability is above delta that the attempt's remaining time \
            exceeds twice the duration of a new copy. If no node is free and kill_restart=true, it stops such an \
            attempt and relaunches the task. With rule=osdi2010 it follows Mantri's own paper: while tasks wait, a \
            straggler is restarted on another node, or gets another copy if that saves resources; otherwise it gets \
            another copy if that saves time.",
        wins: "Durations have a heavy tail and remaining times are known early. At light load, `hindmost reproduce \
            xu2015` measures a shorter mean flowtime than that of sda if both know remaining times equally early.",
        loses: "Remaining times are known late: stragglers run on until then. At light load, sca, which needs no \
            progress reports, has a much shorter mean flowtime in `hindmost reproduce xu2015`, but a higher \
            resource usage.",
        passes: "[Backups(mantri rule), Originals(order)], and Backups(spare resources) with rule=osdi2010",
        source: sources::MANTRI,
        order: None,
        build: &system_of(|mantri: MantriParameters, policy| match mantri.rule {
            Statement::Xu2015 if mantri.originals_first => {
                policy.originals(Which::Any).pass(Speculation::by(MantriRule::new(mantri)))
            }
            Statement::Xu2015 => policy.pass(Speculation::by(MantriRule::new(mantri))).originals(Which::Any),
            Statement::Osdi2010 => {
                let policy = policy.pass(Speculation::by(OsdiRule::new(mantri, true))).originals(Which::Any);
                policy.pass(Speculation::by(OsdiRule::new(mantri, false)))
            }
        }),
    },
    SystemEntry {
        name: "window",
        about: "copies on the best of the slots that come free within a short window, if they save time and energy; \
            these slots are reserved before pending tasks get them",
        does: "At the start of each window (0.2 of the duration of a phase's fastest task), the attempts that run at less \
            than half of the mean rate of their phase are stragglers. Of the slots that are free or come free within \
            the window, each straggler's copy gets one on which it is expected to save both time and energy, the most \
            critical straggler first. The slot is reserved until the copy starts or the window ends.",
        wins: "The cluster is full, nodes differ in speed or in what runs on them, and expected ends of attempts are \
            known: a copy need not take the first slot that comes free, and it does not wait until no task is pending.",
        loses: "All nodes are equal and slots are free anyway: then nothing is gained by looking ahead, and a straggler \
            waits until the next window begins. Ends are not known in advance (knowledge = age): a slot cannot be \
            foreseen, and an attempt gets a copy only if the known durations of its phase have so heavy a tail that an \
            attempt of its age is expected to need more than two copies' time. Durations that live runs learn can \
            have such a tail; in the built-in scenario zhou2018-stragglers no copy starts, because the known durations \
            hardly vary and leave the stragglers out.",
        passes: "[Reserve(window, skyline), Originals(order)]",
        source: sources::WINDOW,
        order: None,
        build: &system_of(|window: WindowParameters, policy| {
            let (originals_first, pass) = (window.originals_first, ReserveSlots::new(window));
            if originals_first {
                policy.originals(Which::Any).pass(pass)
            } else {
                policy.pass(pass).originals(Which::Any)
            }
        }),
    },
    SystemEntry {
        name: "hete_aware",
        about: "copies once no task of the phase is pending, on the free slot that saves time and energy",
        does: "Like hadoop, it starts copies of a phase only when none of its tasks is pending, and after the pending \
            tasks of all jobs. Like window, it takes the free slot on which a copy is expected to save both time and \
            energy, judged by the last task that ran there.",
        wins: "Nodes differ in speed or in power, and slots are free at the end of phases: a copy does not go to a slow \
            node only because it is free.",
        loses: "The cluster is full: stragglers wait until no task is pending, and then few slots are free to choose \
            from. If only the age of attempts is known (knowledge = age), it starts copies under the same condition as \
            window, and none in the built-in scenario zhou2018-stragglers.",
        passes: "[Originals(order), Copies(skyline)]",
        source: sources::HETE_AWARE,
        order: None,
        build: &system_of(|hete_aware: HeteAwareParameters, policy| {
            policy.originals(Which::Any).pass(hete_aware::pass(hete_aware))
        }),
    },
    SystemEntry {
        name: "riski",
        about: "a backup for the task that ends last, on the node with the best expected gain; time saved before the other \
            tasks end counts nothing",
        does: "In a phase without pending tasks, it predicts when the task that is expected to end last would end, and when \
            a backup would end on each node with free resources, both as ranges with probabilities. The backup starts on \
            the node where the phase is expected to end earliest, if it then ends earlier at all. If the backup is certain \
            to end first, the straggler is stopped at once.",
        wins: "Jobs come back, so that profiles show how long a task takes on each node (knowledge = profiles), and slots \
            are scarce: it starts few backups, on the node that suits them, and none that would not shorten the phase.",
        loses: "Several tasks of a phase are equally late: the gain of each backup is small, because the others end as \
            late. While a phase has pending tasks, none of its attempts gets a backup. A slow node has no profiles and its \
            speed is not known: it counts as fast as the others, the backups on it lose and leave no profiles, and so it is \
            chosen again and again, in later runs too. Nodes are equal: differences of few profiles by chance count as gains, \
            so that tasks get backups at their start. Durations vary much for other reasons than the node: a straggler may \
            be stopped for a backup that takes longer than any profile (kill=false). With overdue=1 few backups start.",
        passes: "[Originals(order), Backups(riski rule, best expected gain)]",
        source: sources::RISKI,
        order: None,
        build: &system_of(|riski: RiskiParameters, policy| {
            let (originals_first, pass) = (riski.originals_first, Speculation::by(RiskiRule::new(riski)));
            if originals_first {
                policy.originals(Which::Any).pass(pass)
            } else {
                policy.pass(pass).originals(Which::Any)
            }
        }),
    },
    SystemEntry {
        name: "sca",
        about: "clones of all tasks of new jobs while the cluster is lightly loaded; an optimisation problem \
            gives the number of copies",
        does: "If the new jobs have fewer tasks than there are idle machines, it solves problem P2, which weighs the \
            expected durations of jobs against the price of machine time, and starts each new job with the resulting \
            number of copies of each task. Otherwise new jobs start with one copy of each task, the smallest workload \
            first.",
        wins: "The load is light and progress is not reported: it never has to detect a straggler. In `hindmost \
            reproduce xu2015`, its mean flowtime at light load is much shorter than that of mantri.",
        loses: "The load is heavy: it starts hardly any clones and no backups, and its mean flowtime in `hindmost \
            reproduce xu2015` is much longer than that of mantri. At light load its resource usage is much higher \
            than that of mantri.",
        passes: "[Originals(started jobs, fewest remaining), NewJobs(P2 copies, or one each)]",
        source: sources::SCA,
        order: Some("fewest_remaining"),
        build: &system_of(|sca: ScaParameters, policy| {
            let new_jobs = CloneNewJobs::new(sca, policy.gamma());
            // New jobs that do not start with clones start with one copy of each task.
            policy.originals(Which::Started).pass(new_jobs).originals(Which::Any)
        }),
    },
    SystemEntry {
        name: "sda",
        about: "backups for each attempt whose remaining time is above a multiple (sigma) of the mean duration",
        does: "Once an attempt's remaining time is known to exceed sigma mean durations, its task gets c - 1 backups; \
            each task gets them at most once. By default, sigma and c minimise the expected resource usage of a task: \
            1.707 and 2 for Pareto durations with alpha = 2.",
        wins: "Resource matters: in `hindmost reproduce xu2015` it uses less than a mantri that duplicates stragglers. At \
            heavy load its mean flowtime there is shorter than that of mantri if every job runs to its end.",
        loses: "The load is light: in `hindmost reproduce xu2015` its mean flowtime is longer than that of mantri if \
            both know remaining times equally early, and much longer than that of sca.",
        passes: "[Backups(sda rule), Originals(smallest_workload)]",
        source: sources::SDA,
        order: Some("smallest_workload"),
        build: &system_of(|sda: SdaParameters, policy| {
            policy.pass(Speculation::by(SdaRule::new(sda))).originals(Which::Any)
        }),
    },
    SystemEntry {
        name: "ese",
        about: "backups for the longest remaining times and clones of small new jobs, for heavily loaded clusters",
        does: "Before pending tasks start, each attempt that has no sibling copy and whose remaining time is above \
            sigma mean durations gets one backup, the longest remaining time first. New jobs that have few tasks \
            compared with the number of idle machines start with several copies of each task.",
        wins: "One large job fills the cluster: in `hindmost reproduce xu2015` its flowtime is shorter, and its \
            resource usage is lower, than without backups. At heavy load its mean flowtime is shorter than that of a \
            mantri that learns remaining times later.",
        loses: "Mean durations are xi (1 s by default) or longer: it then clones no job, and starts the same backups \
            as sda in another order, with about the same mean flowtime. At light load sca has a shorter mean \
            flowtime.",
        passes: "[Backups(ese rule, longest first), Originals(started jobs), NewJobs(small ones cloned by Eq. 29)]",
        source: sources::ESE,
        order: Some("smallest_workload"),
        build: &system_of(|ese: EseParameters, policy| {
            let new_jobs = CloneSmallNewJobs::new(ese, policy.gamma());
            policy.pass(Speculation::by(EseRule::new(ese))).originals(Which::Started).pass(new_jobs)
        }),
    },
    SystemEntry {
        name: "pace",
        about: "backups for attempts that fall behind the pace of their phase; originals avoid slow nodes",
        does: "An attempt lags if it has done less than half of what the median copy of its phase had done at the same age. It \
               gets a backup, on the fastest node with free resources, or on its own node if no other has any; if the backup \
               lags as well, the task gets another one. Where copies take as long as their originals, which it learns for each \
               type of job and phase, backups become rarer and stop. Until some have won, backups may cost only a small share \
               of the job's work while tasks are pending, and at other times where attempts report no progress. Where two \
               attempts of a task would write one file, an attempt that seems to hang is stopped, and its task starts again. \
               Originals also go to the fastest nodes. A node known to be slow gets an original only if it is expected to end \
               there no later than if the other nodes ran all pending tasks.",
        wins: "Nodes differ in speed and attempts report progress: it checks an attempt after 10% of the median \
            duration, where other systems wait until a share of the attempt's own work is done. In the built-in \
            scenario quickstart, where copies of a task are slow independently of each other, it has the lowest \
            resource usage of all systems, and no system without clones has a shorter mean flowtime.",
        loses: "Progress is not reported: an attempt then gets a backup only at an age that the durations of its phase \
            do not explain, 1.2 times the 90th percentile or more, and in a small job on few cpus it may have to wait \
            until no task is pending. Copies share most of a task's duration: in \
            quickstart with correlation=0.9 it costs 4% more than none and saves 2% of the mean flowtime. \
            At light load dollymp, with its own order and clones, has a shorter mean flowtime, but a much higher \
            resource usage.",
        passes: "[Restarts, Backups(saving), Originals(order, by speed), Backups(sooner)]",
        source: sources::PACE,
        order: None,
        build: &system_of(|pace: PaceParameters, policy| {
            let (saving, sooner) =
                (Speculation::by(PaceRule::new(pace, true)), Speculation::by(PaceRule::new(pace, false)));
            policy.pass(Restarts::new(pace)).pass(saving).pass(Originals::by_speed(pace.slow)).pass(sooner)
        }),
    },
    SystemEntry {
        name: "auto",
        about: "each attempt starts, goes on and stops by the time that it saves its job against what its slot is worth to others",
        does: "Compares the time that a copy is expected to save its job with the price of its slot, which grows with the number \
            of jobs that wait. A copy starts if it saves more than it costs and waiting would not be better; it is stopped once it \
            no longer does. An attempt of unknown remaining time that is older than most become starts again if no slot is free. For each type of job \
            and phase it learns how much of a duration all copies of a task have in common, and counts on copies accordingly.",
        wins: "Neither the load nor the tail of durations nor whether copies help is known: docs/auto.md has its mean flowtime beside \
            those of others, cell by cell. While slots are free it clones tasks of small jobs; while jobs wait it starts copies that save \
            resources.",
        loses: "Idle slots cost something, or decisions must be cheap: it starts several copies a task while slots are free, and \
            its decisions take many times as long as the simulation without copies (docs/auto.md). Where remaining times are known after \
            30% of the work and a quarter of a duration is in common, pace can be better.",
        passes: "[Restarts, Auto(stops, copies, restarts), Originals(order, by speed), Auto(copies)]",
        source: sources::AUTO,
        order: Some("fewest_remaining"),
        build: &system_of(|parameters: AutoParameters, policy| {
            let (before, after) = auto::passes(parameters);
            let pace = PaceParameters::default();
            policy.pass(Restarts::new(pace)).pass(before).originals_by_speed(pace.slow).pass(after)
        }),
    },
    SystemEntry {
        name: "dollymp",
        about: "jobs by knapsack priorities, packed by best fit; clones in the free resources that remain",
        does: "Starts tasks of the jobs with the best priority; among jobs of the same priority, each node takes the \
            task that fits it best. When no further original fits, each running task gets up to two clones in the \
            free resources that remain.",
        wins: "The load is light, durations have a heavy tail, and copies of a task are slow independently of each \
            other. In `hindmost reproduce dollymp2022`, its mean flowtime at light load is much shorter than without \
            clones, the more so the heavier the tail. If jobs differ in size, its order shortens flowtimes too.",
        loses: "Few resources are free: in `hindmost reproduce dollymp2022`, its clones hardly change the mean \
            flowtime at heavy load. Clones gain nothing if most of a task's duration is the same for all of its \
            copies, and they always use resources.",
        passes: "[Originals(knapsack order, best fit), Clones(same order, <= clones, budget)]",
        source: sources::DOLLYMP,
        order: Some("dollymp"),
        build: &system_of(|dollymp: DollympParameters, policy| {
            let own = policy.has_own_order();
            let pass = dollymp::pass(policy.fit(), dollymp, own);
            // Under another order, that order's own pass starts the originals first.
            let policy = if own { policy } else { policy.originals(Which::Any) };
            policy.pass(pass).keeping(dollymp.keep)
        }),
    },
    SystemEntry {
        name: "dolly",
        about: "clones of every task of small jobs from the start, within a budget",
        does: "A job of at most 10 tasks starts with as many copies of each task as it takes to bring the probability \
            that the job has a straggler down to epsilon. Either all of its tasks are cloned or none is, and all \
            copies of cloned jobs together hold at most 5% of the cluster (with admission=clones, their clones).",
        wins: "Most jobs are small and the cluster has free resources. The clones of a small job start with the job, \
            so it does not wait until stragglers are detected, and it needs no progress reports.",
        loses: "Jobs have more than 10 tasks: they get no clones, and no job gets backups. In the built-in scenario \
            quickstart its mean flowtime is close to that of none. While more than 80% of the cluster is in use, no \
            job is cloned.",
        passes: "[Originals(order), Clones(small jobs, budget)]",
        source: sources::DOLLY,
        order: None,
        build: &system_of(|dolly: DollyParameters, policy| {
            policy.originals(Which::Any).pass(CloneSmallJobs::new(dolly))
        }),
    },
    SystemEntry {
        name: "shed",
        about: "clones for the jobs that are least likely to meet their deadlines",
        does: "Whenever a job arrives, jobs whose deadlines have passed are killed, and all slots that first copies do not \
            need go to clones: the job with the lowest probability of meeting its deadline gets one more clone of each of \
            its tasks, again and again. Jobs that have more copies than that lose the slowest ones.",
        wins: "Jobs have deadlines, durations have a heavy tail, and slots are free: it uses them all, where dolly clones \
            only small jobs and other systems wait for stragglers.",
        loses: "Few slots are free, or no jobs arrive that would cause a new choice: slots that jobs leave stay idle until \
            then (reoptimise=arrival_and_end). In a live run no other job arrives: a late job is stopped only with kill=deadline. \
            Jobs without deadlines get no clones. It uses as much machine time as there \
            is, whatever it gains. There are few nodes with many slots each: a task has at most one copy on each node, and \
            slots stay idle (per_node).",
        passes: "[Abandon(late jobs), Originals(order), Clones(Shed)]",
        source: sources::SHED,
        order: None,
        build: &system_of(|shed: ShedParameters, policy| {
            let clones = CloneByDeadline::new(shed, policy.is_live());
            policy.pass(AbandonLateJobs::new(shed)).originals(Which::Any).pass(clones)
        }),
    },
    SystemEntry {
        name: "chronos",
        about: "clones, or backups of attempts that will miss the deadline of their job; an optimisation gives their number",
        does: "Each task of a job with a deadline gets r more attempts: with its original (strategy=clone), or once its \
            original is expected to end after the deadline, from the beginning (restart) or in place of the original and \
            from its progress (resume). A little later, attempts that another one is ahead of are stopped. r weighs the probability \
            of meeting the deadline against machine time.",
        wins: "Jobs have deadlines, progress is reported early, and an attempt can continue the work of another: only late \
            attempts cost more machine time.",
        loses: "Deadlines are so short that a late attempt is detected too late for another one, or progress is not \
            reported. Jobs without deadlines get no other attempts. There are fewer than r + 1 nodes, because a node runs at \
            most one copy of a task.",
        passes: "[Originals(order), Copies(chronos)]",
        source: sources::CHRONOS,
        order: None,
        build: &system_of(|parameters: ChronosParameters, policy| {
            policy.originals(Which::Any).pass(chronos::Copies::new(parameters))
        })
        .checked(ChronosParameters::check),
    },
];

/// Systems that are compared only if they are named: the decisions of `auto` take long, and `mcp` joined the catalogue after others
/// had been measured and shown in documents.
const ONLY_BY_NAME: [&str; 2] = ["auto", "mcp"];

/// Returns the systems that are compared if none is named.
pub fn compared() -> impl Iterator<Item = &'static SystemEntry> {
    SYSTEMS.iter().filter(|system| !ONLY_BY_NAME.contains(&system.name))
}
