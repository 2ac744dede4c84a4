//! The picture of a ranking: the mean flowtime of each policy in each world.

use hindmost_claims::{Ranking, RankingLevel};

use super::{GROUPS, change_between, mean_rank, policy, rank_text, sorted};
use crate::figures::{Drawing, HeatCell, HeatChart, HeatGroup, HeatRow};
use crate::reproduction::PlotFile;

/// What the picture shows and how to read it.
pub(crate) const CHART_CAPTION: &str = "Mean flowtime divided by that under none, on the same jobs: one row for each \
    policy, one column for each world. Blue is shorter, orange longer. A frame marks the policies that could be the first \
    of all in their world with other seeds. The last column is the mean rank over all worlds.";

/// Returns the pictures of the ranking, which the Markdown shows from the folder `ranking`: one for each progress model.
pub fn pictures(ranking: &Ranking) -> Vec<PlotFile> {
    let file = |at: usize| if at == 0 { "flowtime.svg".to_owned() } else { format!("flowtime-{}.svg", at + 1) };
    let one =
        |(at, level)| PlotFile { file: file(at), drawing: chart(ranking, level), caption: CHART_CAPTION.to_owned() };
    ranking.levels.iter().enumerate().map(one).collect()
}

/// Draws the mean flowtimes under one progress model.
pub(crate) fn chart(ranking: &Ranking, level: &RankingLevel) -> Drawing {
    let row = |at: usize| {
        let cell = |world: &hindmost_claims::WorldRanking| {
            let value = &world.rows[at].flowtime;
            let ratio = value.change.mean.map(|change| 1.0 + change / 100.0);
            let tip = format!(
                "{} in {}: {} against none, rank {}",
                world.rows[at].policy,
                world.world,
                change_between(&value.change),
                rank_text(value.rank)
            );
            HeatCell { ratio, framed: value.rank.is_some_and(|rank| rank.first == 1), tip }
        };
        HeatRow {
            name: policy(ranking, at).policy.clone(),
            cells: level.worlds.iter().map(cell).collect(),
            text: mean_rank(&level.overall[at].flowtime),
        }
    };
    let groups = GROUPS.iter().map(|(heading, kinds)| HeatGroup {
        heading: (*heading).to_owned(),
        rows: sorted(ranking, level, kinds).into_iter().map(row).collect(),
    });
    HeatChart {
        title: format!("Mean flowtime against none, with {}", level.knowledge),
        about: CHART_CAPTION.to_owned(),
        columns: level.worlds.iter().map(|world| world.world.clone()).collect(),
        last: "mean rank".to_owned(),
        groups: groups.collect(),
    }
    .draw()
}
