//! The recommendation in words.

use hindmost_core::estimator::Knowledge;
use hindmost_core::metrics::PolicyResult;
use hindmost_math::plain::Plain;

use crate::experiment::Jobs;

use super::{Choice, Evidence, Ratio};

/// Returns the recommendation in words, without a full stop at the end.
pub(super) fn text(evidence: &Evidence<'_>, choice: &Choice) -> String {
    let words = Words(evidence);
    let mut said = vec![words.choice(choice)];
    if let Some(policy) = choice.policy() {
        said.extend(words.unclear(policy, choice));
        said.extend(words.cheaper(choice));
        said.extend(words.at_correlations(policy, choice));
        said.extend(words.ties(policy, choice));
        said.extend(words.why_this_correlation());
        said.extend(words.assumption(policy));
    }
    if !matches!(choice, Choice::OneSeed { .. } | Choice::Unfinished { .. }) {
        said.extend(words.elsewhere());
        said.extend(words.left_out());
        said.extend(words.unfinished());
        said.extend(words.deadlines());
        said.extend(words.knowledge(choice.shown()));
    }
    said.join(". ")
}

struct Words<'e, 'a>(&'e Evidence<'a>);

impl Words<'_, '_> {
    fn name(&self, at: usize) -> &str {
        &self.0.rows[at].policy
    }

    /// Returns the ratio of a policy in a world: `0.600`.
    fn ratio(&self, world: usize, of: usize) -> String {
        self.0.ratio(world, of).value.map_or("–".to_owned(), |value| format!("{value:.3}"))
    }

    /// Returns the interval of a ratio in brackets, with a space before them: ` (0.582 to 0.618)`; nothing if the ratio is exact
    /// or the interval is not known.
    fn interval(&self, ratio: Ratio) -> String {
        let exact = self.0.experiment.is_the_same_for_every_seed();
        ratio.interval.filter(|_| !exact).map_or(String::new(), |[low, high]| format!(" ({low:.3} to {high:.3})"))
    }

    /// Returns the same with what it is: ` (95% interval 0.582 to 0.618, 5 seeds)`.
    fn full_interval(&self, ratio: Ratio) -> String {
        let seeds = self.0.experiment.seeds.len();
        self.interval(ratio).replacen('(', "(95% interval ", 1).replacen(')', &format!(", {seeds} seeds)"), 1)
    }

    /// Returns a ratio with its interval: `0.600 (0.582 to 0.618)`.
    fn with_interval(&self, world: usize, of: usize) -> String {
        self.ratio(world, of) + &self.interval(self.0.ratio(world, of))
    }

    /// Returns the clause on what a policy costs, which begins with a comma.
    fn cost(&self, of: usize) -> String {
        let ratio = self.0.resource_ratio(of);
        ratio.map_or(String::new(), |cost| format!(", for {cost:.2} times its resource usage"))
    }

    /// Returns for which correlation the figures hold, with a space before it; nothing if only one was compared, but in a sweep,
    /// which shows no others.
    fn where_it_holds(&self) -> String {
        let evidence = self.0;
        let generated = matches!(evidence.experiment.jobs, Jobs::Generated { .. });
        let is_swept = evidence.rows.iter().any(|row| !row.set.is_empty());
        if evidence.worlds.len() < 2 && !(is_swept && generated) {
            return String::new();
        }
        format!(" at correlation {}", evidence.worlds[0].correlation)
    }

    /// Says why this correlation decides, if the scenario leaves it open. In a sweep, the caution says it once for all points.
    fn why_this_correlation(&self) -> Option<String> {
        let evidence = self.0;
        let alone = evidence.rows.iter().all(|row| row.set.is_empty());
        let which = match evidence.shown {
            1 => "the given value",
            values if values % 2 == 0 => "the higher of the middle values",
            _ => "the middle value",
        };
        (evidence.is_open && evidence.worlds.len() > 1 && alone).then(|| {
            format!(
                "The scenario does not say what share of a duration belongs to the task (workload.correlation), so {which}, {}, decides",
                evidence.worlds[0].correlation
            )
        })
    }

    fn choice(&self, choice: &Choice) -> String {
        let base = self.name(self.0.base);
        let at = self.where_it_holds();
        let figures = |of: usize| {
            let (ratio, interval) = (self.ratio(0, of), self.full_interval(self.0.ratio(0, of)));
            format!("{ratio} times that of {base}{at}{interval}{}", self.cost(of))
        };
        match choice {
            Choice::OneSeed { shortest } => format!(
                "one seed is no basis, because differences may be chance (here {} has the shortest flowtimes); --seeds 5 shows \
                 how sure they are",
                self.name(*shortest)
            ),
            Choice::Unfinished { share, policy, .. } => format!(
                "{:.0}% of the jobs had not finished under {} when the runs stopped, and unfinished jobs are in no flowtime; drain \
                 = true runs until every job is done",
                100.0 * share,
                self.name(*policy)
            ),
            Choice::Unclear { shortest } => format!(
                "{} has the shortest mean flowtime, {}, but the difference may be chance; more seeds would show it",
                self.name(*shortest),
                figures(*shortest)
            ),
            Choice::Base { .. } => {
                let of_engine = self.0.engine.map_or(String::new(), |engine| format!(" of {}", engine.name));
                format!("{base}: no other policy{of_engine} has a shorter mean flowtime{at}")
            }
            Choice::Policy { policy, .. } => {
                format!("{}, whose mean flowtime is {}", self.name(*policy), figures(*policy))
            }
            Choice::WorstCase { policy, harmful } => self.worst_case(*policy, *harmful),
        }
    }

    /// Says why the policy that is best in the worst case is recommended, and not the shortest one.
    fn worst_case(&self, policy: usize, harmful: usize) -> String {
        let evidence = self.0;
        let base = self.name(evidence.base);
        let harms: Vec<String> = evidence
            .harms(harmful)
            .iter()
            .enumerate()
            .map(|(at, world)| {
                let long = if at == 0 { format!(" as long as {base}") } else { String::new() };
                let ratio = evidence.ratio(*world, harmful);
                let interval = if at == 0 { self.full_interval(ratio) } else { self.interval(ratio) };
                let value = self.ratio(*world, harmful);
                format!("{value} times{long} at correlation {}{interval}", evidence.worlds[*world].correlation)
            })
            .collect();
        let why = format!(
            "{}, because {}, the shortest at correlation {} ({} times the mean flowtime of {base}), takes {}",
            self.name(policy),
            self.name(harmful),
            evidence.worlds[0].correlation,
            self.ratio(0, harmful),
            listed(&harms)
        );
        if policy == evidence.base {
            return format!("{why}. No other policy is better than {base} in its worst case");
        }
        let (_, world) = evidence.largest(policy);
        format!(
            "{why}. {} is the best in the worst case: it takes at most {} times as long as {base}, at correlation {}{}",
            self.name(policy),
            self.with_interval(world, policy),
            evidence.worlds[world].correlation,
            self.cost(policy)
        )
    }

    /// Names the policy with the smallest ratio if that may be chance.
    fn unclear(&self, policy: usize, choice: &Choice) -> Option<String> {
        let shortest = self.0.shortest(0);
        let is_unclear = shortest != self.0.base && !self.0.ratio(0, shortest).is_shorter();
        (is_unclear && shortest != policy && matches!(choice, Choice::Policy { .. })).then(|| {
            format!(
                "{} has a shorter mean flowtime, {} times that of {}, but that may be chance",
                self.name(shortest),
                self.with_interval(0, shortest),
                self.name(self.0.base)
            )
        })
    }

    /// Names the policy that saves most of the same time for much less resource usage.
    fn cheaper(&self, choice: &Choice) -> Option<String> {
        let cheaper = self.0.cheaper(choice)?;
        Some(format!(
            "If resource usage matters: {}, {} times that of {}{}",
            self.name(cheaper),
            self.with_interval(0, cheaper),
            self.name(self.0.base),
            self.cost(cheaper)
        ))
    }

    /// Says what the recommended policy does at other correlations, beside the best one there.
    fn at_correlations(&self, policy: usize, choice: &Choice) -> Option<String> {
        let evidence = self.0;
        let mut each = Vec::new();
        // The reasons for the best policy in the worst case are about other policies.
        let first = usize::from(!matches!(choice, Choice::WorstCase { .. }));
        for world in first..evidence.worlds.len() {
            let correlation = evidence.worlds[world].correlation;
            let best = evidence.shortest(world);
            let own = self.with_interval(world, policy);
            let other = || format!("{} with {}", self.name(best), self.with_interval(world, best));
            let part = match best {
                _ if policy == evidence.base && best == policy => format!("{} is the shortest", self.name(best)),
                _ if policy == evidence.base => format!("the shortest is {}", other()),
                _ if best == policy => format!("{own}, the shortest"),
                _ if evidence.between(world, best, policy).is_longer() => format!("{own}, the shortest is {}", other()),
                _ => format!("{own}, not distinguishable from the shortest, {}", other()),
            };
            let of =
                if each.is_empty() { format!(", relative to {}", self.name(evidence.base)) } else { String::new() };
            each.push(format!("at correlation {correlation}{of}: {part}"));
        }
        (!each.is_empty()).then(|| capitalised(&each.join("; ")))
    }

    /// Says which other policies the results do not distinguish from the recommended one, and what they cost.
    fn ties(&self, policy: usize, choice: &Choice) -> Option<String> {
        let name = self.name(policy);
        let dearer = match choice {
            Choice::Policy { dearer, .. } => *dearer,
            _ => None,
        };
        let mut said = Vec::new();
        if let Some(dearer) = dearer {
            let cost = self.0.resource_ratio(dearer).zip(self.0.resource_ratio(policy));
            let cost = cost.map_or(String::new(), |(dearer, own)| {
                format!(", and uses {:.2} times the resource of {name}", dearer / own)
            });
            said.push(format!(
                "{} ({} times that of {}) is not distinguishable from {name} in these results{cost}",
                self.name(dearer),
                self.ratio(0, dearer),
                self.name(self.0.base)
            ));
        }
        let ties = self.0.ties(policy).into_iter().filter(|at| Some(*at) != dearer);
        let others: Vec<String> = ties.map(|at| self.name(at).to_owned()).collect();
        if !others.is_empty() {
            let is = if others.len() == 1 { "is" } else { "are" };
            said.push(format!("{} {is} not distinguishable from {name} in these results", listed(&others)));
        }
        (!said.is_empty()).then(|| said.join(". "))
    }

    /// Names the assumption that copies are independent, if other correlations were not compared.
    fn assumption(&self, policy: usize) -> Option<String> {
        let evidence = self.0;
        let generated = matches!(evidence.experiment.jobs, Jobs::Generated { .. });
        let independent = generated && evidence.experiment.setup.correlation == 0.0 && evidence.worlds.len() < 2;
        let copies = evidence.rows[policy].copies.launched > 0;
        // In a sweep, the caution says it once for all points.
        let alone = evidence.rows[policy].set.is_empty();
        (independent && copies && alone)
            .then(|| "It assumes that copies of a task are slow independently of each other (correlation 0)".to_owned())
    }

    /// Names the best of the policies that the engine of the log does not have.
    fn elsewhere(&self) -> Option<String> {
        let (engine, at) = (self.0.engine?, self.0.elsewhere()?);
        Some(format!(
            "Of the policies that {} does not have, {} has the shortest mean flowtime: {} times that of {}{}, if Hindmost runs the jobs",
            engine.name,
            self.name(at),
            self.with_interval(0, at),
            self.name(self.0.base),
            self.cost(at)
        ))
    }

    fn left_out(&self) -> Option<String> {
        let abandon = |row: &&PolicyResult| row.abandoned_jobs > 0 && row.flowtime.mean.is_some();
        let left_out: Vec<String> = self.0.rows.iter().filter(abandon).map(|row| row.policy.clone()).collect();
        let is = if left_out.len() == 1 { "is" } else { "are" };
        (!left_out.is_empty())
            .then(|| format!("{} {is} left out, because abandoned jobs are in no flowtime", listed(&left_out)))
    }

    fn unfinished(&self) -> Option<String> {
        let (share, policy) = self.0.unfinished();
        (share > 0.0).then(|| {
            format!(
                "Up to {:.1}% of the jobs ({}) had not finished when the runs stopped, and are in no flowtime",
                100.0 * share,
                self.name(policy)
            )
        })
    }

    fn deadlines(&self) -> Option<String> {
        let rows = self.0.rows;
        rows.iter().any(|row| row.deadlines.is_some()).then(|| {
            let met = |row: &&PolicyResult| row.pocd.unwrap_or(0.0);
            let most = rows.iter().max_by(|one, other| met(one).total_cmp(&met(other)));
            let most = most.map_or(String::new(), |row| format!("; {} meets the most deadlines", row.policy));
            format!("This goes by mean flowtime{most}")
        })
    }

    /// Says what policies knew of remaining times.
    fn knowledge(&self, policy: usize) -> Option<String> {
        let row = &self.0.rows[policy];
        let knowledge = self.0.experiment.knowledge();
        let is_used = row.copies.launched > 0 && row.set.is_empty();
        let share = match knowledge {
            Knowledge::Oracle => {
                return Some(
                    "Policies knew remaining times from the start (oracle), which no real system does: repeat it with \
                     --knowledge 'progress(0.1)'"
                        .to_owned(),
                );
            }
            Knowledge::Progress(share) => format!("after {}% of its work", percent(share)),
            Knowledge::ProgressUniform => "after a random share of its work".to_owned(),
            Knowledge::Profiles(_) => "from profiles and progress".to_owned(),
            Knowledge::Age | Knowledge::History => return None,
        };
        is_used.then(|| {
            format!(
                "Policies knew the remaining time of an attempt {share} ({knowledge}); --knowledge age shows what is left \
                 without that"
            )
        })
    }
}

/// Returns a share as a number of percent with up to four significant digits.
fn percent(share: f64) -> Plain {
    Plain(format!("{:.3e}", 100.0 * share).parse().unwrap_or(100.0 * share))
}

/// Begins a text with a capital letter.
fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

/// Joins names: `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}
