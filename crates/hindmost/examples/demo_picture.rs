//! Draws both runs of `hindmost demo --out DIR`, one below the other, as in the README:
//!
//! ```console
//! $ hindmost demo --out demo
//! $ cargo run --release -p hindmost --example demo_picture demo > docs/pictures/demo.svg
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hindmost_core::timeline::Timeline;
use hindmost_report::figures::gantt::{GanttChart, Panel, by_node};
use hindmost_report::text::duration;
use hindmost_trace::journal;
use serde_json::Value;

fn main() -> anyhow::Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or_else(|| anyhow::anyhow!("name the folder that `hindmost demo --out` made"))?;
    let without = panel(&folder.join("without"), "Without Hindmost")?;
    let with = panel(&folder.join("with"), "With Hindmost")?;
    let faster = without.end / with.end;
    let chart = GanttChart {
        title: format!("The same word count with one slow node, {faster:.1} times as fast"),
        about:
            "All attempts of two runs of one job on four nodes, one of which is slow. Without Hindmost the job waits \
                for the slow node. With Hindmost, lagging tasks get a copy on another node."
                .to_owned(),
        time: "time since the run began".to_owned(),
        panels: vec![without, with],
        until: None,
        wide: true,
    };
    print!("{}", chart.draw().standalone());
    Ok(())
}

fn panel(folder: &Path, name: &str) -> anyhow::Result<Panel> {
    let records = journal::records(folder, None)?.collect::<Result<Vec<_>, _>>()?;
    let mut panel = by_node(&Timeline::of(records), &BTreeMap::new());
    // The time that the command prints. The journal may end a little later.
    let summary: Value = serde_json::from_slice(&fs::read(folder.join(".hindmost/summary.json"))?)?;
    let flowtime = summary["flowtime"].as_f64().ok_or_else(|| anyhow::anyhow!("the summary has no flowtime"))?;
    panel.heading = format!("{name}: {}", duration(flowtime));
    Ok(panel)
}
