//! `hindmost clean`: lists what resumed runs have set aside in an output folder, with sizes, or removes it.

use std::fmt::Write as _;

use hindmost_run::store::{Aside, SetAside};
use serde_json::json;

use crate::cli::CleanArgs;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Lists what was set aside, and removes it if the user wants that. What can't be removed is a failure.
pub fn run(args: &CleanArgs) -> Outcome {
    let aside = Aside::open(&args.folder, args.trust_folder).map_err(Failure::input)?;
    let all = aside.all().map_err(Failure::input)?;
    let left: Vec<String> = if args.remove {
        all.iter().filter_map(|one| Some(format!("{}: {}", one.name, aside.remove(one).err()?))).collect()
    } else {
        Vec::new()
    };
    let bytes: u64 = all.iter().map(|one| one.bytes).sum();
    if args.json {
        let set_aside: Vec<_> = all.iter().map(|one| json!({"name": one.name, "bytes": one.bytes})).collect();
        let removed = args.remove && left.is_empty();
        let folder = args.folder.to_string_lossy();
        terminal::print_json(&json!({"folder": folder, "set_aside": set_aside, "bytes": bytes, "removed": removed}))?;
    } else {
        terminal::print(&text(args, &all, bytes))?;
    }
    if left.is_empty() {
        return Ok(());
    }
    Err(Failure::work(format!("not everything could be removed: {}", left.join("; "))))
}

fn text(args: &CleanArgs, all: &[SetAside], bytes: u64) -> String {
    let folder = args.folder.display();
    if all.is_empty() {
        return format!("{folder}: no results are set aside\n");
    }
    let width = all.iter().map(|one| size(one.bytes).len()).max().unwrap_or(0);
    let mut text = String::new();
    for one in all {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{:>width$}  {}", size(one.bytes), one.name);
    }
    let results = if all.len() == 1 { "1 result".to_owned() } else { format!("{} results", all.len()) };
    let size = size(bytes);
    text += &if args.remove {
        format!("{folder}: {results} of {size} removed\n")
    } else {
        format!("{folder}: {results} of {size} set aside; hindmost clean {folder} --remove removes them\n")
    };
    text
}

/// Returns a size in the largest unit of which it has at least one, with two digits at least.
fn size(bytes: u64) -> String {
    let units = [("TB", 40), ("GB", 30), ("MB", 20), ("kB", 10)];
    match units.into_iter().find(|(_, power)| bytes >> power > 0) {
        None => format!("{bytes} B"),
        Some((unit, power)) => {
            let size = bytes as f64 / (1u64 << power) as f64;
            if size < 10.0 { format!("{size:.1} {unit}") } else { format!("{size:.0} {unit}") }
        }
    }
}
