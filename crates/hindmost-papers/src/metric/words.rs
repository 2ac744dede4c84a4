//! Metrics in words, and their units.

use super::{Metric, Quantity, UpTo};

impl Metric {
    /// Returns the metric in words, such as `mean flowtime`.
    pub fn words(&self) -> String {
        let of = |up_to: UpTo| up_to.map_or(String::new(), |tasks| format!(" of jobs of up to {tasks} tasks"));
        match self {
            Metric::Mean(quantity, up_to) => format!("mean {}{}", quantity.words(), of(*up_to)),
            Metric::Quantile(quantity @ (Quantity::Flowtime | Quantity::RunningTime), share, up_to) => {
                format!("{} within which {}% of the jobs{} finish", quantity.words(), 100.0 * share, of(*up_to))
            }
            Metric::Quantile(quantity, share, up_to) => {
                format!("{} that {}% of the jobs{} do not exceed", quantity.words(), 100.0 * share, of(*up_to))
            }
            Metric::Share(quantity, limit, up_to) => {
                format!("share of jobs{} with a {} of at most {limit}", of(*up_to), quantity.words())
            }
            Metric::Spread(quantity, up_to) => {
                format!("standard deviation of the {}{} divided by its mean", quantity.words(), of(*up_to))
            }
            Metric::Max(Quantity::Finish) => "makespan".to_owned(),
            Metric::Max(quantity) => format!("largest {}", quantity.words()),
            Metric::Sum(Quantity::Finish) => "sum of completion times".to_owned(),
            Metric::Sum(quantity) => format!("total {}", quantity.words()),
            Metric::Ratio(Quantity::Copies, Quantity::Tasks, up_to) => {
                format!("copies of a task{}, without its first attempt", of(*up_to))
            }
            Metric::Ratio(Quantity::CopyTime, Quantity::Copies, None) => "mean duration of copies".to_owned(),
            Metric::Ratio(Quantity::CopyWonTime, Quantity::CopiesWon, None) => {
                "mean duration of copies that finish first".to_owned()
            }
            Metric::Ratio(Quantity::CopiesWon, Quantity::Copies, None) => {
                "share of copies that finish first".to_owned()
            }
            Metric::Ratio(one, other, up_to) => format!("{} divided by {}{}", one.words(), other.words(), of(*up_to)),
            Metric::Jobs => "jobs".to_owned(),
            Metric::Pairs(quantity, factor) => {
                format!("share of jobs with at most {factor} times the {}", quantity.words())
            }
            Metric::Matched(quantity, share) => {
                format!("share of jobs within the {} of {}% of the jobs", quantity.words(), 100.0 * share)
            }
            Metric::Product(one, other) => format!("mean {} · mean {}", one.words(), other.words()),
            Metric::Efficiency(Quantity::Energy, None) => "energy efficiency 1/energy".to_owned(),
            Metric::Efficiency(quantity, None) => format!("1/mean {}", quantity.words()),
            Metric::Efficiency(Quantity::RunningTime | Quantity::Flowtime, Some(Quantity::Energy)) => {
                "energy efficiency 1/(time · energy)".to_owned()
            }
            Metric::Efficiency(one, Some(other)) => format!("1/(mean {} · mean {})", one.words(), other.words()),
            Metric::RunEnergy => "energy of all nodes".to_owned(),
            Metric::DynamicEnergy => "dynamic energy of all nodes".to_owned(),
            Metric::Utilization => "busy slots".to_owned(),
            Metric::Pocd => "PoCD".to_owned(),
            Metric::Abandoned => "abandoned jobs".to_owned(),
            Metric::Choices => "slots to choose from".to_owned(),
        }
    }

    /// Returns the unit of the metric, if times have the unit `time`.
    pub fn unit(&self, time: &str) -> String {
        match self {
            Metric::Mean(quantity, _)
            | Metric::Quantile(quantity, ..)
            | Metric::Max(quantity)
            | Metric::Sum(quantity) => quantity.unit(time),
            Metric::Share(..)
            | Metric::Pairs(..)
            | Metric::Matched(..)
            | Metric::Utilization
            | Metric::Pocd
            | Metric::Abandoned => "%".to_owned(),
            Metric::Ratio(Quantity::CopyTime | Quantity::CopyWonTime, Quantity::Copies | Quantity::CopiesWon, _) => {
                time.to_owned()
            }
            Metric::Product(one, other) => format!("{}·{}", one.unit(time), other.unit(time)),
            Metric::RunEnergy | Metric::DynamicEnergy => "J".to_owned(),
            Metric::Choices => "slots".to_owned(),
            Metric::Spread(..) | Metric::Ratio(..) | Metric::Efficiency(..) => String::new(),
            Metric::Jobs => "jobs".to_owned(),
        }
    }
}
