//! In which phases durations grow with the input.
//!
//! ln of the duration is fitted to ln of the bytes that were read, in each phase, where each wave and each distance from the input has
//! a mean of its own. Few tasks often have far more input than all others, and one task that took long for another reason must not make
//! a phase look skewed. So the fit must also be significant without the task that speaks most for it. If it isn't, that task counts as
//! evidence only if tasks with usual input almost never took so much longer in the whole application. Phases of the same shape (the same
//! name and number of tasks, in several jobs) that prove nothing each are also looked at together.

use std::collections::BTreeMap;

use hindmost_core::metrics::Skew;
use hindmost_math::fit::{student_quantile, student_two_sided};
use hindmost_math::statistics::median;
use rustc_hash::FxHashMap;

use super::context::{ByInput, Context, log_bytes};
use super::typical::LEAST;
use crate::recording::{InEveryJob, PhaseRows};

/// Level of the test of whether durations depend on the input, over all phases of an application together. It is low because there are
/// many applications.
const LEVEL: f64 = 0.00005;
/// The same without the task that speaks most for it.
const LEVEL_WITHOUT_ONE: f64 = 0.001;
/// The same for that task alone.
const LEVEL_OF_ONE: f64 = 0.01;
/// The least share of the variance that the input must explain.
const LEAST_SHARE: f64 = 0.25;
/// The least power of the input with which durations must grow.
const LEAST_POWER: f64 = 0.1;
/// The largest power of the input that is believed: work on pairs of records. Beyond it, input that hardly differs only happens to be
/// that of the longest task.
const MOST_POWER: f64 = 2.5;
/// Fewest tasks of a fit.
const FEWEST: usize = 10;
/// The least standard deviation of ln of the bytes: below it, all tasks have the same input.
const LEAST_SPREAD: f64 = 0.01;

/// A winner whose input is known.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Points of one stratum have a mean of their own.
    stratum: usize,
    /// ln of the bytes.
    x: f64,
    /// ln of the duration, without the slowness of the node.
    y: f64,
}

/// A line through points, with a mean for each stratum.
#[derive(Clone, Copy, Debug)]
struct Line {
    power: f64,
    /// The share of the variance that it explains.
    share: f64,
    p: f64,
    /// Number of points, the degrees of freedom that the means of the strata leave, and the standard error of the power.
    count: usize,
    degrees: f64,
    error: f64,
}

/// Returns for each phase how durations depend on the input, `None` if that is not proven, and the fit, `None` if too few tasks show it.
pub fn inputs(context: &Context<'_>) -> (Vec<Option<ByInput>>, Vec<Option<Skew>>) {
    let mut first = 0;
    let points: Vec<Vec<Point>> =
        context.recording.phases.iter().enumerate().map(|(at, _)| points(context, at, &mut first)).collect();
    let lines: Vec<Option<Line>> = points.iter().map(|points| line(points.iter(), None)).collect();
    let mut shapes: BTreeMap<(&str, u64), Vec<usize>> = BTreeMap::new();
    for (at, phase) in context.recording.phases.iter().enumerate().filter(|(at, _)| lines[*at].is_some()) {
        if let Some(name) = shape(phase) {
            shapes.entry((name, phase.size())).or_default().push(at);
        }
    }
    shapes.retain(|_, phases| phases.len() > 1);
    let tests = (lines.iter().flatten().count() + shapes.len()) as f64;
    let beside = Beside::of(&points);
    let mut powers: Vec<Option<f64>> = points
        .iter()
        .zip(&lines)
        .map(|(points, line)| line.filter(|line| is_proven(points.iter(), line, tests, &beside)))
        .map(power)
        .collect();
    for phases in shapes.values() {
        // Not copied, because it may be nearly all points.
        let together = phases.iter().flat_map(|at| &points[*at]);
        let all = line(together.clone(), None).filter(|all| is_proven(together, all, tests, &beside));
        let Some(all) = all else { continue };
        for at in phases {
            // A phase in which input explains nothing is of another kind, whatever its name.
            let agrees = lines[*at].is_some_and(|own| own.power >= all.power / 2.0 && own.share >= LEAST_SHARE);
            powers[*at] = powers[*at].or(agrees.then_some(all.power));
        }
    }
    let with =
        |(at, power): (usize, Option<f64>)| Some(ByInput { power: power?, typical: typical_input(context, at)? });
    let proven: Vec<Option<ByInput>> = powers.into_iter().enumerate().map(with).collect();
    let fits = lines.into_iter().zip(&proven).map(|(line, proven)| Some(line?.skew(proven.is_some()))).collect();
    (proven, fits)
}

impl Line {
    fn skew(self, explains: bool) -> Skew {
        let half = student_quantile(0.975, self.degrees) * self.error;
        Skew {
            tasks: self.count as u64,
            elasticity: self.power,
            elasticity_ci95: [self.power - half, self.power + half],
            r_squared: self.share,
            p: self.p,
            explains,
        }
    }
}

fn power(line: Option<Line>) -> Option<f64> {
    line.map(|line| line.power)
}

fn typical_input(context: &Context<'_>, at: usize) -> Option<f64> {
    let typical = &context.typical[at];
    let rows = context.recording.phases[at].rows.iter().zip(&typical.is_first);
    let shown = rows.filter(|(row, is_first)| row.wins && !(typical.is_later && **is_first));
    median(&mut shown.filter_map(|(row, _)| log_bytes(row)).collect::<Vec<f64>>())
}

/// What phases of the same work have in common in several jobs: the name without the number of the stage. `None` if nothing says
/// what is the same work.
pub fn shape(phase: &PhaseRows) -> Option<&str> {
    let are_tasks_named = matches!(&phase.in_every_job, InEveryJob::Names(names) if !names.is_empty());
    let name = phase.work.as_deref().or(phase.name.as_deref()).or(are_tasks_named.then_some(""))?;
    let stage = format!("stage {}: ", phase.phase);
    Some(name.strip_prefix(&*stage).unwrap_or(name))
}

fn points(context: &Context<'_>, at: usize, first_stratum: &mut usize) -> Vec<Point> {
    let mut strata: FxHashMap<(u32, u8), usize> = FxHashMap::default();
    let rows = context.recording.phases[at].rows.iter().enumerate().filter(|(_, row)| row.wins);
    let of = |(number, row): (usize, &crate::recording::AttemptRow)| {
        let next = strata.len();
        let kind = (context.wave(at, number).number(), row.spent.distance);
        let stratum = *first_stratum + *strata.entry(kind).or_insert(next);
        let slowness = context.slowness_of_node(row).map_or(0.0, f64::ln);
        Some(Point { stratum, x: log_bytes(row)?, y: row.seconds().max(LEAST).ln() - slowness })
    };
    let points = rows.filter_map(of).collect();
    *first_stratum += strata.len();
    points
}

/// Returns x and y of each point without the means of its stratum (except of one point), and the number of strata.
fn centred<'p>(
    points: impl Iterator<Item = &'p Point> + Clone,
    except: Option<usize>,
) -> (impl Iterator<Item = (f64, f64)>, usize) {
    let mut means: FxHashMap<usize, [f64; 3]> = FxHashMap::default();
    for (_, point) in points.clone().enumerate().filter(|(at, _)| Some(*at) != except) {
        let sums = means.entry(point.stratum).or_default();
        *sums = [sums[0] + point.x, sums[1] + point.y, sums[2] + 1.0];
    }
    let strata = means.len();
    let without = move |point: &Point| {
        let [x, y, count] = means.get(&point.stratum).copied().unwrap_or([point.x, point.y, 1.0]);
        (point.x - x / count, point.y - y / count)
    };
    (points.map(without), strata)
}

/// Fits a line to all points except one; `None` for fewer than 10, or if the input does not vary.
fn line<'p>(points: impl Iterator<Item = &'p Point> + Clone, except: Option<usize>) -> Option<Line> {
    let count = points.clone().count() - usize::from(except.is_some());
    let (centred, strata) = centred(points, except);
    let degrees = count as f64 - strata as f64 - 1.0;
    if count < FEWEST || degrees < 1.0 {
        return None;
    }
    let kept = centred.enumerate().filter(|(at, _)| Some(*at) != except).map(|(_, point)| point);
    let (xx, xy, yy) = kept.fold((0.0, 0.0, 0.0), |(xx, xy, yy), (x, y)| (xx + x * x, xy + x * y, yy + y * y));
    if (xx / count as f64).sqrt() < LEAST_SPREAD || yy <= 1e-18 * count as f64 {
        return None;
    }
    let (power, share) = (xy / xx, (xy * xy / (xx * yy)).min(1.0));
    let error = (yy * (1.0 - share) / degrees / xx).sqrt();
    // A perfect fit leaves no error to compare with.
    let p = if error > 0.0 { student_two_sided(power / error, degrees) } else { 0.0 };
    Some(Line { power, share, p, count, degrees, error })
}

fn is_proven<'p>(
    points: impl Iterator<Item = &'p Point> + Clone,
    line_of_all: &Line,
    tests: f64,
    beside: &Beside,
) -> bool {
    let is_plausible =
        |line: &Line, level: f64| (LEAST_POWER..=MOST_POWER).contains(&line.power) && line.p * tests < level;
    if !is_plausible(line_of_all, LEVEL) || line_of_all.share < LEAST_SHARE {
        return false;
    }
    let (centred, _) = centred(points.clone(), None);
    let most = centred.enumerate().max_by(|(_, a), (_, b)| (a.0 * a.1).total_cmp(&(b.0 * b.1)));
    let Some((most, (x, _))) = most else { return false };
    line(points, Some(most)).is_some_and(|without| is_plausible(&without, LEVEL_WITHOUT_ONE))
        || beside.p(x, line_of_all.power * x / 2.0) * tests < LEVEL_OF_ONE
}

/// All winners of an application with known input, each relative to its stratum.
struct Beside {
    /// Number of winners.
    count: usize,
    /// ln of the bytes relative to the median, and of the duration, of those that took longer than the median.
    longer: Vec<(f64, f64)>,
}

impl Beside {
    fn of(points: &[Vec<Point>]) -> Beside {
        let mut beside = Beside { count: 0, longer: Vec::new() };
        for points in points {
            beside.add(points);
        }
        beside
    }

    /// Adds the winners of a phase. No stratum belongs to two phases.
    fn add(&mut self, points: &[Point]) {
        let mut strata: FxHashMap<usize, Vec<Point>> = FxHashMap::default();
        for point in points {
            strata.entry(point.stratum).or_default().push(*point);
        }
        for points in strata.values() {
            let middle = |of: &dyn Fn(&Point) -> f64| median(&mut points.iter().map(of).collect::<Vec<f64>>());
            let Some((x, y)) = middle(&|point| point.x).zip(middle(&|point| point.y)) else { continue };
            self.count += points.len();
            self.longer.extend(points.iter().map(|point| (point.x - x, point.y - y)).filter(|(_, y)| *y > 0.0));
        }
    }

    /// The probability that a task took so much longer whose input is not even half as far above the usual.
    fn p(&self, x: f64, longer: f64) -> f64 {
        let alike = self.longer.iter().filter(|(input, by)| *by >= longer && *input < x / 2.0).count();
        (alike as f64 + 1.0) / (self.count as f64 + 1.0)
    }
}
