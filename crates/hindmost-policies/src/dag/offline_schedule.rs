//! Makes `graphene`'s offline schedule of one job's phases: troublesome phases are placed first.
//!
//! The virtual machine is the whole, empty cluster ([`ResourceProfile`]). For each pair of thresholds l and f, the set
//! T of troublesome phases contains the phases that are long or pack badly:
//!
//! ```text
//! T  = { v : LongScore(v) >= l or FragScore(v) <= f },  with all phases between two of them in the DAG
//! LongScore(v) = e_v / max over phases of e
//! FragScore(v) = max(e_v, TWork(v)) / (⌈n_v / w_v⌉ · e_v)
//! TWork(v)     = n_v · e_v · max over dimensions of d_v / capacity
//! P  = ancestors of T,  C = descendants of T,  O = all others
//! ```
//!
//! Phase v has n_v tasks of effective time e_v and demand d_v, and w_v of them fit into the machine at once.
//!
//! T is placed first, then the rest in each of the orders T O P C, T O C P, T P O C and T C O P. P is placed backwards,
//! as late as its children allow, and C forwards, as early as its parents allow. O is placed forwards if only P is
//! placed before, backwards if only C is, and in both directions if neither is. In these orders each phase finds a
//! place, because all placed phases that are related to it are on one side of it. In T P C O and T C P O, a phase of O
//! might not fit between its parents and its children. The most compact of all schedules is kept.
//!
//! Tasks start in the order in which they begin in that schedule ([`Turns`]). Among tasks that begin together, those of
//! the phase that was placed first go first: a troublesome phase if there is one, then the phase with the longest path.
//!
//! Readings:
//! - l is one of 0.25, 0.5, 0.75, 1 and f one of 0.25, 0.5, 0.75; the paper takes multiples of a δ that it does not
//!   state.
//! - The last candidate has no troublesome phases: it is plain list scheduling.
//! - The ideal time in FragScore is never below e; otherwise a phase of few tasks would count as one that packs badly.
//! - Within a set, the phase with the longest path is placed first (the path to the job's end; backwards, the path from
//!   its beginning).
//! - The phases of a job with more than 200 phases are ordered by their longest paths alone.

use hindmost_core::resources::Resources;

use crate::dag::resource_profile::{
    Moment, ResourceProfile, Stage, first_start, last_end, paths_from_begin, paths_to_end,
};
use crate::dag::task_order::{Placed, Turns};

/// The values of the threshold l.
const LONG: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// The values of the threshold f.
const FRAGMENTED: [f64; 3] = [0.25, 0.5, 0.75];
/// Maximum number of phases of a job that gets a schedule.
const MOST_PHASES: usize = 200;

/// The part of a job that a phase belongs to: T, P, C or O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Troublesome,
    Parent,
    Child,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Forwards,
    Backwards,
}

use Part::{Child, Other, Parent, Troublesome};
use Way::{Backwards, Forwards};

/// The orders in which the other parts are placed after the troublesome phases.
const ORDERS: [[(Part, Way); 3]; 6] = [
    [(Other, Forwards), (Parent, Backwards), (Child, Forwards)],
    [(Other, Backwards), (Parent, Backwards), (Child, Forwards)],
    [(Other, Forwards), (Child, Forwards), (Parent, Backwards)],
    [(Other, Backwards), (Child, Forwards), (Parent, Backwards)],
    [(Parent, Backwards), (Other, Forwards), (Child, Forwards)],
    [(Child, Forwards), (Other, Backwards), (Parent, Backwards)],
];

/// A schedule of a job alone on the virtual machine.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// By phase, the blocks in which its tasks are placed.
    pub places: Vec<Placed>,
    /// Time from the first begin to the last end, nanoseconds.
    pub makespan: Moment,
}

/// Returns the order in which the phases' tasks start.
pub(crate) fn turns(stages: &[Stage], capacity: &Resources) -> Turns {
    if stages.len() <= MOST_PHASES {
        return Turns::of(schedule(stages, capacity).places);
    }
    let paths = paths_to_end(stages);
    let mut order: Vec<usize> = (0..stages.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(paths[*at]), *at));
    let mut places = vec![Placed::default(); stages.len()];
    for (after, at) in order.into_iter().enumerate() {
        places[at].after = after as u32;
    }
    Turns::of(places)
}

/// Returns the most compact schedule among all candidates.
pub(crate) fn schedule(stages: &[Stage], capacity: &Resources) -> Schedule {
    let planner = Planner::new(stages, capacity);
    let mut tried: Vec<Vec<Part>> = Vec::new();
    let mut best: Option<Schedule> = None;
    for troublesome in planner.candidates() {
        let parts = planner.parts(&troublesome);
        if tried.contains(&parts) {
            continue;
        }
        for way in [Forwards, Backwards] {
            for order in ORDERS {
                let found = planner.place(&parts, way, order);
                if best.as_ref().is_none_or(|best| found.makespan < best.makespan) {
                    best = Some(found);
                }
            }
        }
        if best.as_ref().is_some_and(|best| best.makespan <= planner.shortest) {
            break;
        }
        tried.push(parts);
    }
    best.unwrap_or(Schedule { places: vec![Placed::default(); stages.len()], makespan: 0 })
}

struct Planner<'a> {
    stages: &'a [Stage],
    capacity: &'a Resources,
    /// Each phase's LongScore and FragScore.
    scores: Vec<(f64, f64)>,
    to_end: Vec<Moment>,
    from_begin: Vec<Moment>,
    /// Lower bound of the makespan: the longest path.
    shortest: Moment,
}

impl Planner<'_> {
    fn new<'a>(stages: &'a [Stage], capacity: &'a Resources) -> Planner<'a> {
        let longest = stages.iter().map(|stage| stage.duration).max().unwrap_or(1);
        let scores = stages.iter().map(|stage| (stage.duration as f64 / longest as f64, frag_score(stage, capacity)));
        let to_end = paths_to_end(stages);
        Planner {
            scores: scores.collect(),
            from_begin: paths_from_begin(stages),
            shortest: to_end.iter().copied().max().unwrap_or(0),
            to_end,
            stages,
            capacity,
        }
    }

    /// Returns the sets of troublesome phases, one for each pair of thresholds, and an empty set at the end.
    fn candidates(&self) -> impl Iterator<Item = Vec<bool>> {
        let pairs = LONG.into_iter().rev().flat_map(|long| FRAGMENTED.map(|frag| (long, frag)));
        let sets = pairs.map(|(long, frag)| {
            self.scores.iter().map(|(length, fragments)| *length >= long || *fragments <= frag).collect()
        });
        sets.chain(std::iter::once(vec![false; self.stages.len()]))
    }

    /// Returns the part of each phase. Phases between troublesome phases become troublesome too.
    fn parts(&self, troublesome: &[bool]) -> Vec<Part> {
        let mut below = vec![false; self.stages.len()];
        for (at, stage) in self.stages.iter().enumerate() {
            below[at] = stage.parents.iter().any(|parent| troublesome[*parent] || below[*parent]);
        }
        let mut above = vec![false; self.stages.len()];
        for (at, stage) in self.stages.iter().enumerate().rev() {
            above[at] = stage.children.iter().any(|child| troublesome[*child] || above[*child]);
        }
        let part = |at: usize| match (troublesome[at], above[at], below[at]) {
            (true, ..) | (_, true, true) => Troublesome,
            (_, true, false) => Parent,
            (_, false, true) => Child,
            (_, false, false) => Other,
        };
        (0..self.stages.len()).map(part).collect()
    }

    fn place(&self, parts: &[Part], way: Way, order: [(Part, Way); 3]) -> Schedule {
        let mut profile = ResourceProfile::new(*self.capacity);
        let mut places: Vec<Option<Placed>> = vec![None; self.stages.len()];
        let mut placed = 0;
        for (part, way) in std::iter::once((Troublesome, way)).chain(order) {
            self.place_part(part, way, parts, &mut profile, (&mut places, &mut placed));
        }
        let makespan = profile.span().map_or(0, |(begin, end)| end - begin);
        Schedule { places: places.into_iter().map(Option::unwrap_or_default).collect(), makespan }
    }

    /// Places the phases of a part. `places` has the places of the phases that were placed before, and `placed` is
    /// their number.
    fn place_part(
        &self,
        part: Part,
        way: Way,
        parts: &[Part],
        profile: &mut ResourceProfile,
        (places, placed): (&mut [Option<Placed>], &mut u32),
    ) {
        let mut members: Vec<usize> = (0..parts.len()).filter(|at| parts[*at] == part).collect();
        let paths = if way == Forwards { &self.to_end } else { &self.from_begin };
        members.sort_by_key(|at| (std::cmp::Reverse(paths[*at]), *at));
        // A phase without placed parents is placed from the beginning of the schedule, and a phase without placed
        // children from its end.
        let (begin, end) = profile.span().unwrap_or((0, 0));
        for at in members {
            let stage = &self.stages[at];
            let blocks = if way == Forwards {
                let parents = stage.parents.iter().filter_map(|parent| places[*parent].as_ref());
                let from = parents.filter_map(|parent| last_end(&parent.blocks)).max().unwrap_or(begin);
                profile.place_early(stage.tasks, stage.duration, &stage.demand, from)
            } else {
                let children = stage.children.iter().filter_map(|child| places[*child].as_ref());
                let until = children.filter_map(|child| first_start(&child.blocks)).min().unwrap_or(end);
                profile.place_late(stage.tasks, stage.duration, &stage.demand, until)
            };
            places[at] = Some(Placed { blocks, after: *placed });
            *placed += 1;
        }
    }
}

/// Returns how well a phase packs alone, in (0, 1]: the time that it would take if tasks were divisible, over the time
/// that it takes.
fn frag_score(stage: &Stage, capacity: &Resources) -> f64 {
    let beside = capacity.times(&stage.demand).max(1);
    let waves = stage.tasks.div_ceil(beside).max(1) as f64;
    let work = stage.tasks as f64 * stage.demand.dominant_share(capacity);
    (work.max(1.0) / waves).min(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Moment = 1_000_000_000;

    fn cpus(count: u64) -> Resources {
        let mut amount = Resources::NONE;
        amount.0[0] = 1000 * count;
        amount
    }

    /// Returns the stages of these phases, given as (tasks, seconds, cpus, parents).
    fn dag(phases: &[(u64, i128, u64, &[usize])]) -> Vec<Stage> {
        let mut stages: Vec<Stage> = Vec::new();
        for (at, (tasks, seconds, demand, parents)) in phases.iter().enumerate() {
            for parent in *parents {
                stages[*parent].children.push(at);
            }
            stages.push(Stage {
                tasks: *tasks,
                duration: seconds * SECOND,
                demand: cpus(*demand),
                parents: parents.to_vec(),
                children: Vec::new(),
            });
        }
        stages
    }

    /// Returns the phases in the order in which their first tasks begin.
    fn in_order(stages: &[Stage], capacity: u64) -> Vec<u32> {
        turns(stages, &cpus(capacity)).in_order(|_| Some(0)).map(|(at, _)| at).collect()
    }

    #[test]
    fn frag_scores_equal_those_computed_by_hand() {
        let score = |tasks, demand| frag_score(&dag(&[(tasks, 5, demand, &[])])[0], &cpus(10));
        // Two tasks of 4 cpus fit into 10 cpus at once, so three tasks take two waves. Divisible tasks would take 12/10
        // of a wave.
        assert!((score(3, 4) - 0.6).abs() < 1e-12);
        // One task of 6 cpus fits at once, so three tasks take three waves. Divisible tasks would take 18/10 of a wave.
        assert!((score(3, 6) - 0.6).abs() < 1e-12);
        assert!((score(30, 1) - 1.0).abs() < 1e-12);
        assert!((score(1, 1) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn phases_between_troublesome_phases_are_troublesome() {
        // The dependencies are 0 → 1 → 2 → 3 and 0 → 4.
        let stages = dag(&[(1, 1, 1, &[]), (1, 8, 1, &[0]), (1, 1, 1, &[1]), (1, 8, 1, &[2]), (1, 1, 1, &[0])]);
        let capacity = cpus(4);
        let planner = Planner::new(&stages, &capacity);
        let parts = planner.parts(&[false, true, false, true, false]);
        assert_eq!(parts, [Parent, Troublesome, Troublesome, Troublesome, Other]);
        let parts = planner.parts(&[false, true, false, false, false]);
        assert_eq!(parts, [Parent, Troublesome, Child, Child, Other]);
    }

    #[test]
    fn a_long_narrow_phase_behind_a_short_one_goes_first() {
        // There are 4 cpus. The phases x1 → x2 → x3 need 3 cpus for 4 s each. The phases y → z need 2 cpus for 1 s and
        // 1 cpu for 10 s. z fits beside an x phase, y does not. The path of the x phases is longer than that of y and
        // z, 12 s against 11 s, and an x phase packs better than y. But if y goes first, z runs beside all x phases,
        // and the job takes only 13 s.
        let stages = dag(&[(1, 4, 3, &[]), (1, 4, 3, &[0]), (1, 4, 3, &[1]), (1, 1, 2, &[]), (1, 10, 1, &[3])]);
        let best = schedule(&stages, &cpus(4));
        assert_eq!(best.makespan, 13 * SECOND);
        // z and x1 begin at the same time. z goes first, because it is troublesome.
        assert_eq!(in_order(&stages, 4), [3, 4, 0, 1, 2]);
    }

    #[test]
    fn a_troublesome_phase_precedes_others_of_the_same_begin() {
        // There are 2 cpus. A phase of 4 tasks of 5 s and a phase of one task of 20 s precede a phase of one task of 5
        // s. Both parents begin at 0, and the phase of 20 s is troublesome.
        for (short, long) in [(0, 1), (1, 0)] {
            let mut phases: [(u64, i128, u64, &[usize]); 3] = [(4, 5, 1, &[]), (1, 20, 1, &[]), (1, 5, 1, &[0, 1])];
            phases.swap(0, short as usize);
            let stages = dag(&phases);
            assert_eq!(schedule(&stages, &cpus(2)).makespan, 25 * SECOND);
            assert_eq!(in_order(&stages, 2), [long, short, 2]);
        }
    }

    #[test]
    fn many_phases_are_ranked_by_path() {
        let mut stages = dag(&vec![(1, 1, 1, &[] as &[usize]); MOST_PHASES + 1]);
        stages[MOST_PHASES].duration *= 2;
        assert_eq!(in_order(&stages, 4)[..2], [MOST_PHASES as u32, 0]);
    }

    prop_compose! {
        fn any_phase()(tasks in 1..40u64, seconds in 1..20i128, demand in 1..8u64, parents in any::<u8>()) -> (u64, i128, u64, u8) {
            (tasks, seconds, demand, parents)
        }
    }

    proptest! {
        /// For all parts and orders, parents end before their children begin, also in the order of tasks, and no
        /// schedule is shorter than the longest path or than the total work on the whole capacity.
        #[test]
        fn every_schedule_respects_dependencies(phases in proptest::collection::vec(any_phase(), 1..8)) {
            let parents: Vec<Vec<usize>> = phases.iter().enumerate()
                .map(|(at, phase)| (0..at).filter(|parent| phase.3 >> parent & 1 == 1).collect())
                .collect();
            let described: Vec<(u64, i128, u64, &[usize])> = phases.iter().zip(&parents)
                .map(|(phase, parents)| (phase.0, phase.1, phase.2, &parents[..]))
                .collect();
            let stages = dag(&described);
            let capacity = cpus(7);
            let planner = Planner::new(&stages, &capacity);
            let work: u64 = phases.iter().map(|phase| phase.0 * phase.1 as u64 * phase.2.min(7)).sum();
            for troublesome in planner.candidates() {
                let parts = planner.parts(&troublesome);
                for way in [Forwards, Backwards] {
                    for order in ORDERS {
                        let schedule = planner.place(&parts, way, order);
                        for (at, stage) in stages.iter().enumerate() {
                            let blocks = &schedule.places[at].blocks;
                            prop_assert_eq!(blocks.iter().map(|block| block.width * block.waves).sum::<u64>(), stage.tasks);
                            let begin = first_start(blocks);
                            for parent in &stage.parents {
                                prop_assert!(last_end(&schedule.places[*parent].blocks) <= begin, "{order:?}");
                            }
                        }
                        prop_assert!(schedule.makespan >= planner.shortest);
                        prop_assert!(schedule.makespan * 7 >= i128::from(work) * SECOND);
                    }
                }
            }
            let ranks = in_order(&stages, 7);
            let rank = |phase: usize| ranks.iter().position(|at| *at as usize == phase);
            for (at, stage) in stages.iter().enumerate() {
                prop_assert!(stage.parents.iter().all(|parent| rank(*parent) < rank(at)));
            }
        }
    }
}
