//! What a reproduction says of itself: its notes and the command that makes it.

use hindmost_math::plain::Quoted;

use crate::data::Paper;
use crate::runs::Size;
use crate::selection::Selection;

/// Returns the paper's notes, and those about this selection: a single seed, and data or readings from files.
pub(crate) fn notes(paper: &Paper, selection: &Selection) -> Vec<String> {
    let mut notes = paper.notes.clone();
    if selection.seeds == Some(1) {
        notes.push(
            "Caution: with a single seed there are no intervals, and a verdict may be chance. Rules about whole intervals are \
             judged by the value alone."
                .to_owned(),
        );
    }
    if let Some(folder) = paper.other_folder() {
        notes.push(format!(
            "The data of this reproduction are those of the folder {}, which differ from the ones that the program \
             contains: rules, readings and verdicts may differ from those of the published page.",
            folder.display()
        ));
    }
    for reading in paper.reading.iter().filter(|reading| selection.readings.contains(&reading.name)) {
        if let Some((file, text)) = &reading.file {
            notes.push(format!(
                "The reading {} is that of the file {}: {}",
                Quoted(&reading.name),
                file.display(),
                on_one_line(text)
            ));
        }
    }
    notes
}

/// Returns the lines of a TOML file without comments, in one line.
fn on_one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("; ")
}

/// Returns the command that makes the reproduction, without `hindmost` and without `--out`.
pub(crate) fn command(paper: &Paper, selection: &Selection) -> String {
    let quoted = |name: &str| {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
        if name.chars().all(plain) { name.to_owned() } else { format!("'{name}'") }
    };
    let name = paper.other_folder().map_or_else(|| paper.key.clone(), |folder| folder.display().to_string());
    let mut text = format!("reproduce {}", quoted(&name));
    if selection.size == Size::Quick {
        text += " --quick";
    }
    // A reading from a file is named by the file.
    let given = |name: &String| match paper.reading(name).and_then(|reading| reading.file.as_ref()) {
        Some((file, _)) => file.display().to_string(),
        None => name.clone(),
    };
    let readings: Vec<String> = selection.readings.iter().map(given).collect();
    for (option, names) in [("--figure", &selection.figures), ("--claim", &selection.claims), ("--reading", &readings)]
    {
        for name in names {
            text += &format!(" {option} {}", quoted(name));
        }
    }
    if let Some(seeds) = selection.seeds {
        text += &format!(" --seeds {seeds}");
    }
    text
}
