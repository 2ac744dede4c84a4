//! The entries of orders.

use super::entry::{JobOrder, OrderEntry, order_of};
use super::{XU_LAU, XU_LIU_LAU};
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
use crate::orders::tetris::{LeastRemaining, TetrisFit, TetrisParameters};

/// The orders, in the order in which they are listed.
pub static ORDERS: &[OrderEntry] = &[
    OrderEntry {
        name: "fifo",
        about: "the earliest arrival first",
        does: "Serves jobs in the order of their arrival. A job that arrived later gets resources only where the \
            earlier ones have nothing to start that fits.",
        wins: "Jobs are of similar size: first in, first out is then nearly the best order for the mean flowtime.",
        loses: "Sizes differ widely: small jobs wait behind large ones. In dollymp2022's heavy load the order \
            dollymp has a mean flowtime 7% to 56% below first in, first out (capacity with one queue), the more the \
            sizes differ.",
        key: "arrival",
        source: "the baseline",
        build: &order_of(|(), _| JobOrder::job_by_job(Fifo)),
    },
    OrderEntry {
        name: "fair",
        about: "the job that holds the least, over its weight",
        does: "Jobs take turns. The next task comes from the job with the fewest running attempts over its weight on \
            one-slot machines, and with the smallest dominant share over its weight on others.",
        wins: "Several users share a cluster: a small job gets resources soon after its arrival, whatever runs \
            already.",
        loses: "The load is heavy and only the mean flowtime counts: all jobs advance together and end late. On \
            nodes with several resources it decides as drf does.",
        key: "running attempts (one-slot machines), else dominant share, over weight",
        source: "the baseline",
        build: &order_of(|(), _| JobOrder::job_by_job(Fair)),
    },
    OrderEntry {
        name: "smallest_workload",
        about: "started jobs first, then the least work not yet started",
        does: "Serves started jobs before new ones. Within both groups, the job with the least work that has not \
            started yet (pending tasks times mean duration) goes first.",
        wins: "More work is offered than the cluster can do and sizes differ: small jobs go before large ones, and a \
            job that has started is completed.",
        loses: "Demands differ: a task that needs many resources counts like one that needs few. A large new job \
            waits as long as smaller ones arrive, and a small new job waits for the pending tasks of every started \
            job.",
        key: "started jobs before new ones; then tasks not yet started x mean duration",
        source: XU_LAU,
        build: &order_of(|(), _| JobOrder::job_by_job(SmallestWorkload)),
    },
    OrderEntry {
        name: "fewest_remaining",
        about: "started jobs with the fewest pending tasks first, then new jobs by workload",
        does: "Serves started jobs first, the one with the fewest pending tasks before the others. New jobs follow \
            in the order of their workload (pending tasks times mean duration).",
        wins: "The load is light, as sca assumes: started jobs get their last tasks running before new ones take \
            machines.",
        loses: "Task durations differ between jobs: a started job with a few long tasks goes before one with more, \
            but short, tasks. Demands are not compared either.",
        key: "started jobs before new ones; fewest tasks not yet started, new ones by workload",
        source: XU_LAU,
        build: &order_of(|(), _| JobOrder::job_by_job(FewestRemaining)),
    },
    OrderEntry {
        name: "srpt",
        about: "the shortest remaining path of phases first",
        does: "Serves the job whose longest path through unfinished phases is shortest. A phase counts with its \
            effective time: its mean duration plus 1.5 standard deviations.",
        wins: "Jobs find enough free resources for all of their tasks: the path is then the time that a job still \
            needs.",
        loses: "Jobs have many tasks for the cluster: the path does not count tasks, so that a job of many short \
            tasks goes before a single longer task. Long jobs wait as long as shorter ones arrive.",
        key: "longest remaining path of phases, in effective times (mean + 1.5 standard deviations)",
        source: XU_LIU_LAU,
        build: &order_of(|(), _| JobOrder::job_by_job(Srpt)),
    },
    OrderEntry {
        name: "svf",
        about: "the smallest remaining volume first: tasks x time x dominant share",
        does: "Serves the job with the smallest remaining volume: the sum over its unfinished tasks of effective \
            time (mean plus 1.5 standard deviations) times dominant share. The volume falls as tasks finish.",
        wins: "More work is offered than the cluster can do and sizes differ: small jobs end first, and both time \
            and resources count as size.",
        loses: "Large jobs wait as long as smaller ones arrive. It does not compare how demands fit together on a \
            node, and a long chain of small phases counts as a small job.",
        key: "remaining effective volume: tasks not finished x effective time x dominant share",
        source: XU_LIU_LAU,
        build: &order_of(|(), _| JobOrder::job_by_job(Svf)),
    },
    OrderEntry {
        name: "tetris",
        about: "the pair of task and node that packs best, with a preference for little remaining work",
        does: "Of all pairs of a waiting task and a node on which it fits, starts the one with the highest score: \
            alignment of demand and free resources minus epsilon times the job's remaining work. Alignment is the \
            inner product of both, as shares of the node's capacity.",
        wins: "Tasks demand several resources in different proportions: packing leaves less of a node unused. In \
            dollymp2022's heavy load, with the default epsilon, its mean flowtime is within 2% of that of dollymp.",
        loses: "Fairness counts: a job with much remaining work, or with tasks that fit badly, may wait long. With \
            epsilon=0 and equal demands it is first in, first out, and dollymp2022 measures up to 56% less mean \
            flowtime for dollymp.",
        key: "-(alignment - epsilon x remaining work), best pair of task and node",
        source: "Grandl et al., Multi-Resource Packing for Cluster Schedulers, SIGCOMM 2014",
        build: &order_of(|tetris: TetrisParameters, _| {
            JobOrder::node_by_node(LeastRemaining(tetris.remaining), move || TetrisFit::new(tetris))
        }),
    },
    OrderEntry {
        name: "dollymp",
        about: "knapsack priorities by length and volume; best fit within a priority, node by node",
        does: "Whenever a job arrives, each job gets a new priority: the first of the knapsacks of 2, 4, 8, ... \
            slots into which it fits by length and, smallest volume first, by volume. Node by node, the jobs of the \
            best priority compete by the inner product of demand and free resources.",
        wins: "More work is offered than the cluster can do and sizes differ: in dollymp2022's heavy load its mean \
            flowtime is 34% to 57% below that of drf, and 7% to 56% below that of capacity.",
        loses: "Jobs are of similar size: it gains little over first in, first out. Large jobs wait as long as \
            smaller ones arrive, and priorities do not change when tasks finish.",
        key: "priority by knapsacks of doubling size (Algorithm 1); best fit within a priority, node by node",
        source: XU_LIU_LAU,
        build: &order_of(|dollymp: DollympOrderParameters, _| {
            JobOrder::node_by_node(KnapsackOrder::new(dollymp), move || InnerProduct::new(dollymp))
        }),
    },
    OrderEntry {
        name: "drf",
        about: "the smallest dominant share in use first, over the job's weight",
        does: "Jobs take turns. The next task comes from the job with the smallest dominant share over its weight; \
            the dominant share is the largest share of any one resource that a job holds.",
        wins: "Several users with different demands share nodes with several resources, and each is to get a fair \
            part.",
        loses: "The mean flowtime counts and the load is heavy: all jobs advance together. dollymp2022 measures 1.5 \
            to 2.3 times the mean flowtime of dollymp there.",
        key: "dominant share in use over weight",
        source: "Ghodsi et al., Dominant Resource Fairness: Fair Allocation of Multiple Resource Types, NSDI 2011",
        build: &order_of(|(), _| JobOrder::job_by_job(Drf)),
    },
    OrderEntry {
        name: "capacity",
        about: "the queue that uses the least of its guaranteed share first; within a queue, the earliest arrival",
        does: "The queue that uses the smallest part of its guaranteed share starts the next task; within a queue, \
            jobs go first in, first out. A queue may borrow what others leave, up to its maximum share.",
        wins: "Departments with guaranteed shares use one cluster: a queue below its guarantee goes first, and what \
            it leaves is not idle.",
        loses: "Tasks are long: nothing is stopped to return borrowed resources, so that a queue waits for attempts \
            of others to end. Within a queue small jobs wait behind large ones, and a maximum share can leave \
            resources idle.",
        key: "queues by used share over guaranteed share, within their maxima; arrival in a queue",
        source: "Apache Hadoop YARN, CapacityScheduler",
        build: &order_of(|capacity: CapacityParameters, queues| {
            let order = CapacityOrder::new(&queues, capacity);
            JobOrder::with_originals(order, move |which| CapacityOriginals::new(&queues, capacity, which))
        }),
    },
    OrderEntry {
        name: "hopper",
        about: "the smallest virtual size first (2/beta x remaining tasks), with slots kept for backups",
        does: "A job's virtual size, 2/beta times its remaining tasks, is the number of slots that it can use, \
            backups included. If the jobs want more slots than there are, the smallest are served first, each up to \
            its size; otherwise all slots are shared in proportion to size.",
        wins: "Durations have a heavy tail (beta below 2) and a speculation policy such as hadoop or spark runs with \
            it: slots kept free let a backup start at once instead of behind new tasks.",
        loses: "Kept slots stay idle until a backup starts. With the default beta=fitted, slots are kept only for \
            phases that are known to be Pareto with a tail index below 2; without such, it only orders and limits \
            jobs.",
        key: "virtual size, 2/beta x tasks left; while jobs want more than there is, a job gets at most that",
        source: "Ren et al., Hopper: Decentralized Speculation-aware Cluster Scheduling at Scale, SIGCOMM 2015",
        build: &order_of(|hopper: HopperParameters, _| JobOrder::job_by_job(Hopper::new(hopper))),
    },
    OrderEntry {
        name: "carbyne",
        about: "dominant resource fairness, in which tasks that can wait give way to jobs that are nearly done",
        does: "A job claims only the tasks that must start now for it to end no later than with its whole fair \
            share. Remaining resources go to the jobs with the shortest remaining time, so that none stay idle.",
        wins: "Jobs have several phases with slack: jobs that are nearly done end sooner, while by plan no job ends \
            later than with its fair share.",
        loses: "Estimates of durations are wrong: a job that has waited may then end later than with its fair share. \
            Jobs whose tasks must all start now have nothing to give, and it serves them as drf does.",
        key: "dominant share in use over weight; tasks of a job that can wait give way to short jobs",
        source: "Grandl et al., Altruistic Scheduling in Multi-Resource Clusters, OSDI 2016",
        build: &order_of(|(), _| JobOrder::with_originals(Fair, Altruists::of)),
    },
    OrderEntry {
        name: "graphene",
        about: "packing against remaining work; in a job, the order of an offline schedule with troublesome phases \
            first",
        does: "Plans each job once, alone on the cluster, with phases that are long or pack badly placed first, and \
            starts its tasks in that order. Among jobs it takes the best score of packing minus remaining work, \
            unless a job is owed at least kappa of the cluster.",
        wins: "Jobs have many phases, some of them long or hard to pack: starting these first shortens the job. The \
            makespan of a batch is short.",
        loses: "Far more work is offered than the cluster can do: with the default srpt=0.2 packing decides and \
            flowtimes are long; with srpt=5 they are about as short as under svf. Jobs of one phase gain nothing \
            from the plan.",
        key: "remaining effective volume against packing; phases by a schedule with troublesome ones first",
        source: "Grandl et al., Graphene: Packing and Dependency-aware Scheduling, OSDI 2016",
        build: &order_of(|graphene: GrapheneParameters, _| {
            JobOrder::with_originals(Svf, move |which| TroublesomeFirst::of(which, graphene))
        }),
    },
];
