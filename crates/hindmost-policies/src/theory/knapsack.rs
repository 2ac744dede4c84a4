//! Solves the multiple-choice knapsack problem behind [`super::clones::exact`]. Each item takes one of its choices 0,
//! 1, 2, …; choice k has the weight k·`weight` and the value `values[k]`. The chosen weights together must not exceed a
//! capacity.

/// An item of the problem: the number of copies of a job's tasks. Choice k means k copies of each task beyond the
/// first.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The weight of each step from one choice to the next; positive.
    pub(super) weight: u64,
    /// The value of each choice; not empty.
    pub(super) values: Vec<f64>,
}

/// Maximum number of steps of the dynamic programme.
const MOST_STEPS: u64 = 100_000_000;

/// Returns the best choices within the capacity, and a gap: an upper bound of the optimum's value minus the value of
/// these choices. The gap is 0 unless the dynamic programme would need too many steps. Among equally good solutions,
/// smaller choices are preferred, for later items first.
pub(super) fn solve(items: &[Item], capacity: u64) -> (Vec<usize>, f64) {
    let alone: Vec<usize> = items.iter().map(|item| best_choice(&item.values)).collect();
    if weight(items, &alone) <= u128::from(capacity) {
        return (alone, 0.0);
    }
    let relaxed = Relaxation::new(items, capacity);
    let greedy = fill(items, relaxed.choices.clone(), capacity);
    let reached = value(items, &greedy);
    // Values that differ by less than the rounding error of the sums are equal.
    let rounding = 1e-13 * items.iter().map(|item| item.values[0].abs()).sum::<f64>();
    // A choice can be part of a better solution only if the bound with this choice exceeds the value reached.
    let open: Vec<Vec<usize>> = items
        .iter()
        .zip(&greedy)
        .map(|(item, &taken)| {
            let best = relaxed.best(item);
            (0..item.values.len())
                .filter(|&choice| {
                    let loss = best - relaxed.reduced(item, choice);
                    choice == taken || relaxed.bound - loss >= reached - rounding
                })
                .collect()
        })
        .collect();
    let gap = relaxed.bound - reached;
    if gap <= rounding || open.iter().all(|choices| choices.len() == 1) {
        return (greedy, 0.0);
    }
    // The weight of the smallest open choice of each item.
    let settled: u64 = items.iter().zip(&open).map(|(item, choices)| item.weight * choices[0] as u64).sum();
    let Some(spare) = capacity.checked_sub(settled) else { return (greedy, gap) };
    let extra: u64 = items
        .iter()
        .zip(&open)
        .map(|(item, choices)| item.weight * (choices[choices.len() - 1] - choices[0]) as u64)
        .sum();
    let spare = spare.min(extra);
    let many: u64 = open.iter().filter(|choices| choices.len() > 1).map(|choices| choices.len() as u64).sum();
    if many.saturating_mul(spare + 1) > MOST_STEPS {
        return (greedy, gap);
    }
    let exact = programme(items, &open, spare as usize);
    if value(items, &exact) > reached { (exact, 0.0) } else { (greedy, 0.0) }
}

/// Returns the first choice with the largest value.
pub(super) fn best_choice(values: &[f64]) -> usize {
    let mut best = 0;
    for (choice, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = choice;
        }
    }
    best
}

fn weight(items: &[Item], choices: &[usize]) -> u128 {
    items.iter().zip(choices).map(|(item, &choice)| u128::from(item.weight) * choice as u128).sum()
}

fn value(items: &[Item], choices: &[usize]) -> f64 {
    items.iter().zip(choices).map(|(item, &choice)| item.values[choice]).sum()
}

/// The relaxed problem, in which an item may take a mixture of its choices.
struct Relaxation {
    /// The value of one unit of capacity.
    multiplier: f64,
    /// Upper bound of the value of any solution.
    bound: f64,
    /// The relaxed solution without its last, partial step; it fits the capacity.
    choices: Vec<usize>,
}

impl Relaxation {
    /// Solves the relaxed problem: takes steps along the concave hulls of all items, the best value per weight first,
    /// until the next step does not fit.
    fn new(items: &[Item], capacity: u64) -> Self {
        let mut steps: Vec<(f64, usize, usize)> = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let mut from = 0;
            while let Some((to, slope)) = steepest(item, from) {
                steps.push((slope / item.weight as f64, place, to));
                from = to;
            }
        }
        // Slopes fall along a hull, so sorting keeps an item's steps in order.
        steps.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        let mut choices = vec![0; items.len()];
        let mut left = capacity;
        let mut multiplier = 0.0;
        for (slope, place, to) in steps {
            let weight = items[place].weight * (to - choices[place]) as u64;
            if weight > left {
                multiplier = slope;
                break;
            }
            left -= weight;
            choices[place] = to;
        }
        let mut relaxation = Self { multiplier, bound: 0.0, choices };
        relaxation.bound = multiplier * capacity as f64 + items.iter().map(|item| relaxation.best(item)).sum::<f64>();
        relaxation
    }

    /// Returns the value of a choice minus the price of its weight.
    fn reduced(&self, item: &Item, choice: usize) -> f64 {
        item.values[choice] - self.multiplier * (item.weight * choice as u64) as f64
    }

    fn best(&self, item: &Item) -> f64 {
        (0..item.values.len()).map(|choice| self.reduced(item, choice)).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Returns the next corner of the concave hull after `from` and the gain per step towards it; `None` if no gain is
/// positive.
fn steepest(item: &Item, from: usize) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for to in from + 1..item.values.len() {
        let slope = (item.values[to] - item.values[from]) / (to - from) as f64;
        if slope > best.map_or(0.0, |(_, slope)| slope) {
            best = Some((to, slope));
        }
    }
    best
}

/// Improves the choices greedily: repeatedly takes the step with the best gain per weight among the steps that fit,
/// until none gains.
fn fill(items: &[Item], mut choices: Vec<usize>, capacity: u64) -> Vec<usize> {
    let mut left = capacity - weight(items, &choices).min(u128::from(capacity)) as u64;
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for (place, item) in items.iter().enumerate() {
            let from = choices[place];
            let affordable = (left / item.weight).min((item.values.len() - 1 - from) as u64) as usize;
            for to in from + 1..=from + affordable {
                let gain = (item.values[to] - item.values[from]) / (item.weight as f64 * (to - from) as f64);
                if gain > best.map_or(0.0, |(gain, ..)| gain) {
                    best = Some((gain, place, to));
                }
            }
        }
        let Some((_, place, to)) = best else { return choices };
        left -= items[place].weight * (to - choices[place]) as u64;
        choices[place] = to;
    }
}

/// Returns the optimum among the open choices by dynamic programming. `spare` is the capacity beyond each item's
/// smallest choice.
fn programme(items: &[Item], open: &[Vec<usize>], spare: usize) -> Vec<usize> {
    // best[w] is the largest value of the items so far with a weight of at most w.
    let mut best = vec![0.0_f64; spare + 1];
    let mut next = best.clone();
    let mut taken: Vec<Vec<u32>> = Vec::with_capacity(items.len());
    for (item, choices) in items.iter().zip(open) {
        let smallest = choices[0];
        if choices.len() == 1 {
            for slot in &mut best {
                *slot += item.values[smallest];
            }
            taken.push(Vec::new());
            continue;
        }
        let mut places = vec![0_u32; spare + 1];
        for (slot, before) in next.iter_mut().zip(&best) {
            *slot = before + item.values[smallest];
        }
        for (place, &choice) in choices.iter().enumerate().skip(1) {
            let step = usize::try_from(item.weight).unwrap_or(usize::MAX).saturating_mul(choice - smallest);
            for weight in step..=spare {
                let value = best[weight - step] + item.values[choice];
                if value > next[weight] {
                    next[weight] = value;
                    places[weight] = place as u32;
                }
            }
        }
        std::mem::swap(&mut best, &mut next);
        taken.push(places);
    }
    let mut left = spare;
    let mut chosen: Vec<usize> = open.iter().map(|choices| choices[0]).collect();
    for (place, item) in items.iter().enumerate().rev() {
        if let Some(&taken) = taken[place].get(left) {
            let choice = open[place][taken as usize];
            left -= item.weight as usize * (choice - open[place][0]);
            chosen[place] = choice;
        }
    }
    chosen
}
