//! The entries of orders.

use super::entry::{JobOrder, OrderEntry, order_of};
use super::sources::orders as sources;
use crate::dag::carbyne::Altruists;
use crate::dag::graphene::{GrapheneParameters, TroublesomeFirst};
use crate::orders::capacity::{CapacityOrder, CapacityOriginals, CapacityParameters};
use crate::orders::dollymp::{DollympOrderParameters, InnerProduct, KnapsackOrder};
use crate::orders::drf::Drf;
use crate::orders::fair::Fair;
use crate::orders::fewest_remaining::FewestRemaining;
use crate::orders::fifo::Fifo;
use crate::orders::hopper::{Hopper, HopperParameters};
use crate::orders::smallest_workload::SmallestWorkload;
use crate::orders::srpt::Srpt;
use crate::orders::svf::Svf;
use crate::orders::tetris::{ByRemaining, TetrisFit, TetrisParameters};

/// The orders, in the order in which they are listed.
pub static ORDERS: &[OrderEntry] = &[
    OrderEntry {
        name: "fifo",
        about: "the earliest arrival first",
        does: "Serves jobs in the order of their arrival. A later job gets resources only where no pending task of an \
            earlier job fits.",
        wins: "Jobs are of similar size: serving them in order of arrival is then nearly the best order for the mean \
            flowtime.",
        loses: "Sizes differ widely: small jobs wait behind large ones. At heavy load in `hindmost reproduce \
            dollymp2022`, the order dollymp has a shorter mean flowtime than capacity with one queue, which serves \
            jobs in order of arrival; the difference grows with the differences in size.",
        key: "arrival",
        source: sources::FIFO,
        build: &order_of(|(), _| JobOrder::job_by_job(Fifo)),
    },
    OrderEntry {
        name: "fair",
        about: "the job that holds the fewest resources, relative to its weight",
        does: "Jobs take turns. The next task comes from the job with the fewest running attempts on one-slot \
            machines, or the smallest dominant share on other nodes, each divided by the job's weight. Of jobs that use \
            as much, the one that arrived first is next.",
        wins: "Several users share a cluster: a small job gets resources soon after its arrival, even if large jobs \
            are running.",
        loses: "The load is heavy and only the mean flowtime counts: all jobs advance together, so all of them end \
            late. More jobs run than slots exist: while a job waits with nothing, an earlier job whose attempt has just ended \
            uses nothing too and is next, so the first jobs keep the slots until they end. On nodes with several resources it \
            decides as drf does.",
        key: "running attempts (on one-slot machines) or dominant share, divided by weight",
        source: sources::FAIR,
        build: &order_of(|(), _| JobOrder::job_by_job(Fair)),
    },
    OrderEntry {
        name: "smallest_workload",
        about: "started jobs first, then the least work not yet started",
        does: "Serves started jobs before new ones. Among started jobs, and among new ones, the job with the least \
            pending work (pending tasks times mean duration) goes first.",
        wins: "More work is offered than the cluster can do and sizes differ: small jobs go before large ones, and a \
            job that has started is completed.",
        loses: "Demands differ: a task that needs many resources counts like a task that needs few. A large new job \
            waits while smaller ones keep arriving, and a small new job waits for the pending tasks of every started \
            job.",
        key: "started jobs before new ones; then tasks not yet started x mean duration",
        source: sources::SMALLEST_WORKLOAD,
        build: &order_of(|(), _| JobOrder::job_by_job(SmallestWorkload)),
    },
    OrderEntry {
        name: "fewest_remaining",
        about: "started jobs with the fewest pending tasks first, then new jobs by workload",
        does: "Serves started jobs first, in ascending order of their pending tasks. New jobs follow in ascending \
            order of their workload (pending tasks times mean duration).",
        wins: "The load is light, as sca assumes: started jobs get their last tasks running before new ones take \
            machines.",
        loses: "Task durations differ between jobs: a started job with a few long tasks goes before a job with more, \
            but short, tasks. Demands are not compared either.",
        key: "started jobs before new ones; fewest tasks not yet started, new ones by workload",
        source: sources::FEWEST_REMAINING,
        build: &order_of(|(), _| JobOrder::job_by_job(FewestRemaining)),
    },
    OrderEntry {
        name: "srpt",
        about: "the shortest remaining path of phases first",
        does: "Serves the job whose longest path through unfinished phases is shortest. A phase counts with its \
            effective time: its mean duration plus 1.5 standard deviations.",
        wins: "Jobs find enough free resources for all of their tasks: the length of the path is then the time that a \
            job still needs.",
        loses: "Jobs have more tasks than fit on the cluster at once: the path does not count tasks, so that a job of \
            many short tasks goes before a job of one longer task. Long jobs wait while shorter ones keep arriving.",
        key: "longest remaining path of phases, in effective times (mean + 1.5 standard deviations)",
        source: sources::SRPT,
        build: &order_of(|(), _| JobOrder::job_by_job(Srpt)),
    },
    OrderEntry {
        name: "svf",
        about: "the smallest remaining volume first: tasks x time x dominant share",
        does: "Serves the job with the smallest remaining volume: the sum over its unfinished tasks of effective \
            time (mean plus 1.5 standard deviations) times dominant share. The volume falls as tasks finish.",
        wins: "More work is offered than the cluster can do and sizes differ: small jobs end first, and both time \
            and resources count as size.",
        loses: "Large jobs wait while smaller ones keep arriving. It does not compare how demands fit together on a \
            node, and a long chain of small phases counts as a small job.",
        key: "remaining effective volume: tasks not finished x effective time x dominant share",
        source: sources::SVF,
        build: &order_of(|(), _| JobOrder::job_by_job(Svf)),
    },
    OrderEntry {
        name: "tetris",
        about: "the pair of task and node that packs best, with a preference for little remaining work",
        does: "Of all pairs of a pending task and a node on which it fits, starts the pair with the highest score: \
            the alignment of demand and free resources minus epsilon times the job's remaining work. The alignment is \
            the inner product of demand and free resources, both as shares of the node's capacity. With barrier=0.9, \
            the last tenth of each phase goes before everything else.",
        wins: "Tasks demand several resources in different proportions: packing leaves less of a node unused. With \
            the default epsilon, `hindmost reproduce dollymp2022` measures about the same mean flowtime as with the \
            order dollymp at heavy load.",
        loses: "Fairness counts: a job with much remaining work, or with tasks that fit badly, may wait long. With \
            epsilon=0 and equal demands it serves jobs in order of arrival; at heavy load, `hindmost reproduce \
            dollymp2022` then measures a longer mean flowtime than with the order dollymp.",
        key: "-(alignment - epsilon x remaining work), best pair of task and node",
        source: sources::TETRIS,
        build: &order_of(|tetris: TetrisParameters, _| {
            JobOrder::node_by_node(ByRemaining(tetris.remaining, tetris.sign), move || TetrisFit::new(tetris))
        }),
    },
    OrderEntry {
        name: "dollymp",
        about: "knapsack priorities by length and volume; best fit within a priority, node by node",
        does: "Whenever a job arrives, each job gets a new priority. Jobs are packed, smallest volume first, into \
            knapsacks of 2, 4, 8, ... slots, each of which takes only jobs that are no longer than that many slots; \
            the first knapsack that takes a job is its priority. Node by node, the jobs of the best priority compete \
            by the inner product of demand and free resources.",
        wins: "More work is offered than the cluster can do and sizes differ: at heavy load, `hindmost reproduce \
            dollymp2022` measures shorter mean flowtimes than with drf and capacity.",
        loses: "Jobs are of similar size: its mean flowtime is then little shorter than in order of arrival. Large \
            jobs wait while smaller ones keep arriving, and priorities do not change when tasks finish.",
        key: "priority by knapsacks of doubling size (Algorithm 1); best fit within a priority, node by node",
        source: sources::DOLLYMP,
        build: &order_of(|dollymp: DollympOrderParameters, _| {
            JobOrder::node_by_node(KnapsackOrder::new(dollymp), move || InnerProduct::new(dollymp))
        }),
    },
    OrderEntry {
        name: "drf",
        about: "the smallest dominant share in use first, divided by the job's weight",
        does: "Jobs take turns. The next task comes from the job with the smallest dominant share, divided by the \
            job's weight; the dominant share is the largest share of any one resource that a job holds.",
        wins: "Several users with different demands share nodes with several resources, and each user is to get a \
            fair share.",
        loses: "The load is heavy and only the mean flowtime counts: all jobs advance together, so all of them end \
            late. `hindmost reproduce dollymp2022` measures a much longer mean flowtime than with the order dollymp.",
        key: "dominant share in use, divided by weight",
        source: sources::DRF,
        build: &order_of(|(), _| JobOrder::job_by_job(Drf)),
    },
    OrderEntry {
        name: "capacity",
        about: "the queue that uses the least of its guaranteed share first; within a queue, the earliest arrival",
        does: "The queue that uses the smallest part of its guaranteed share starts the next task; within a queue, \
            jobs are served in order of arrival. A queue may borrow resources that other queues do not use, up to its \
            own maximum share. Backups count as well; with capacity+hadoop they also wait in the turn of their job.",
        wins: "Departments with guaranteed shares use one cluster: a queue below its guarantee goes first, and other \
            queues use what it does not need.",
        loses: "Tasks are long: nothing is stopped to return borrowed resources, so a queue waits until attempts of \
            other queues end. Within a queue small jobs wait behind large ones, and a maximum share can leave \
            resources idle.",
        key: "queues by used share over guaranteed share, within their maximum shares; arrival in a queue",
        source: sources::CAPACITY,
        build: &order_of(|capacity: CapacityParameters, queues| {
            let order = CapacityOrder::new(&queues, capacity);
            JobOrder::with_originals(order, move |which| CapacityOriginals::new(&queues, capacity, which))
        }),
    },
    OrderEntry {
        name: "hopper",
        about: "the job that can use the fewest slots first, backups included; slots are kept for backups",
        does: "A job's virtual size, 2/beta times its remaining tasks, is the number of slots that it can use, \
            backups included. If the jobs want more slots than there are, the smallest jobs are served first, each up \
            to its virtual size; otherwise all slots are shared in proportion to virtual size.",
        wins: "Durations have a heavy tail (beta below 2) and a speculation policy such as hadoop or spark runs with \
            it: slots kept free let a backup start at once instead of behind new tasks.",
        loses: "Slots kept for backups stay idle until a backup starts. With the default beta=fitted, slots are kept \
            only for phases that are known to be Pareto with a tail index below 2; without such phases, it only \
            orders and limits jobs.",
        key: "virtual size (2/beta x remaining tasks); while slots are short, it is also the most that a job gets",
        source: sources::HOPPER,
        build: &order_of(|hopper: HopperParameters, _| JobOrder::job_by_job(Hopper::new(hopper))),
    },
    OrderEntry {
        name: "carbyne",
        about: "dominant resource fairness, but tasks that can wait leave their resources to jobs that are nearly done",
        does: "A job claims only the tasks that must start now for it to end no later than with its whole fair share. \
            The resources that jobs do not claim go to the jobs with the shortest remaining time, so that none stay \
            idle.",
        wins: "Jobs have several phases with slack: jobs that are nearly done end sooner, and according to the plans \
            no job ends later than with its fair share.",
        loses: "Estimates of durations are wrong: a job that has delayed tasks may then end later than with its fair \
            share. If all tasks must start at once, no resources are left for other jobs, and it decides as drf does.",
        key: "dominant share in use, divided by weight; tasks that can wait leave their resources to short jobs",
        source: sources::CARBYNE,
        build: &order_of(|(), _| JobOrder::with_originals(Fair, Altruists::of)),
    },
    OrderEntry {
        name: "graphene",
        about: "packing against remaining work; within a job, the order of a plan that places troublesome phases first",
        does: "Plans each job once, as if it were alone on the cluster: phases that are long or pack badly are placed \
            first. A job's tasks start in the order of its plan. Each job offers its next task; the one with the best \
            score, packing minus the job's remaining work, starts. But a job that has received less than its fair \
            share by at least kappa of the cluster is served first.",
        wins: "Jobs have many phases, some of them long or hard to pack: starting these first shortens the job. The \
            makespan of a batch is short.",
        loses: "Far more work is offered than the cluster can do: with the default srpt=0.2 packing decides and \
            flowtimes are long. With srpt=5 they are about as short as under svf. Jobs of one phase gain nothing from \
            the plan.",
        key: "packing minus remaining effective volume; phases in the order of a plan that places troublesome ones \
            first",
        source: sources::GRAPHENE,
        build: &order_of(|graphene: GrapheneParameters, _| {
            JobOrder::with_originals(Svf, move |which| TroublesomeFirst::of(which, graphene))
        }),
    },
];
