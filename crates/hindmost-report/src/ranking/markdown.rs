//! The ranking as Markdown.

use std::fmt::Write as _;

use hindmost_core::reproduction::{RankedKind, Ranking};

use super::{
    GROUP_CAPTION, GROUPS, TextTable, group_tables, knowledge_table, made_by, overall_table, pictures, world_facts,
    world_table,
};
use crate::reproduction::markdown::syntax::{code, escaped, header, picture, row};

/// Returns the page: what the ranking shows, the table over all worlds, and a table for each world. It shows the pictures of
/// [`pictures`] from the folder `ranking`.
pub fn markdown(ranking: &Ranking) -> String {
    let quick = if ranking.quick { " (quick)" } else { "" };
    let mut text = format!("# Ranking of all policies{quick}\n\n{}.\n\n", escaped(&ranking.title));
    for (at, sentence) in ranking.answer.iter().enumerate() {
        let bold = if at == 0 { "**" } else { "" };
        let _ = writeln!(text, "{bold}{}{bold}\n", escaped(sentence));
    }
    let pictures = pictures(ranking);
    let Some(level) = ranking.levels.first() else { return text };
    if let Some(first) = pictures.first() {
        picture(&mut text, first.drawing.title(), &format!("ranking/{}", first.file), &first.caption);
    }
    let groups = group_tables(level);
    if !groups.is_empty() {
        let _ = writeln!(text, "## Who is first\n\n{GROUP_CAPTION}.\n");
    }
    for table in groups {
        let _ = writeln!(text, "{}:\n", escaped(&table.caption));
        write_table(&mut text, &table, &table.columns);
    }
    text += "## Over all worlds\n\n";
    for (heading, kinds) in GROUPS {
        let table = overall_table(ranking, level, kinds);
        if kinds == [RankedKind::System] {
            let _ = writeln!(text, "{}.\n", escaped(&table.caption));
        }
        let _ = writeln!(text, "{heading}:\n");
        write_table(&mut text, &table, &table.columns);
    }
    if let Some((table, headings)) = knowledge_table(ranking) {
        let _ = writeln!(text, "## What policies know\n\n{}.\n", escaped(&table.caption));
        write_table(&mut text, &table, &headings.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let _ = writeln!(
        text,
        "## Worlds\n\nTables are for {}. The scenario of each world is a file in the folder `ranking`, with all policies \
         and seeds, for `hindmost simulate`.\n",
        code(&level.knowledge)
    );
    for world in &level.worlds {
        let _ = writeln!(
            text,
            "### {}\n\n{}\n\n{}\n",
            escaped(&world.world),
            escaped(&world_facts(ranking, world)),
            escaped(&world.decides)
        );
        let table = world_table(level, world);
        let _ = writeln!(text, "<details>\n<summary>All policies</summary>\n\n{}.\n", escaped(&table.caption));
        write_table(&mut text, &table, &table.columns);
        text += "</details>\n\n";
    }
    text += "## How to read this\n\n";
    for note in &ranking.notes {
        let _ = writeln!(text, "- {}", escaped(note));
    }
    let _ = writeln!(
        text,
        "\nMade by {} (hindmost {}). {} The same command gives the same numbers on any number of threads.",
        code(&format!("hindmost {}", ranking.command)),
        env!("CARGO_PKG_VERSION"),
        made_by(ranking)
    );
    text
}

fn write_table(text: &mut String, table: &TextTable, headings: &[&str]) {
    header(text, headings);
    for cells in &table.rows {
        let name = cells.iter().take(1).map(|name| code(name));
        row(text, name.chain(cells.iter().skip(1).cloned()));
    }
    text.push('\n');
}
