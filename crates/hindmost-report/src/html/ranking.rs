//! The page of the ranking of all policies.

use hindmost_core::reproduction::Ranking;
use serde::Serialize;

use super::{Column, Frame, Picture, Pictures, Step, Table, full, glossary, name, paragraph, rendered, sentence};
use crate::ranking::{
    CHART_CAPTION, GROUP_CAPTION, GROUPS, TextTable, chart, group_tables, knowledge_table, made_by, overall_table,
    world_facts, world_table,
};

#[derive(Serialize)]
struct Content {
    answer: Vec<String>,
    picture: Vec<Picture>,
    groups_about: String,
    groups: Vec<Table>,
    overall: Vec<Table>,
    knowledge: Option<Table>,
    other_pictures: Vec<Picture>,
    worlds: Vec<World>,
    notes: Vec<String>,
    made_by: String,
}

#[derive(Serialize)]
struct World {
    heading: String,
    about: String,
    decides: String,
    table: Table,
}

/// Returns the page of a ranking. `again` says how to make it again.
///
/// # Errors
/// If a template is faulty, which is a defect of this crate.
pub fn ranking_page(ranking: &Ranking, again: &[Step]) -> Result<String, minijinja::Error> {
    let mut pictures = Pictures::default();
    let mut drawn = ranking.levels.iter().map(|level| {
        let drawing = chart(ranking, level);
        let caption = format!("{}. {CHART_CAPTION}", drawing.title());
        pictures.picture(&drawing, caption)
    });
    let picture = drawn.next().into_iter().collect();
    let other_pictures = drawn.collect();
    let main = ranking.levels.first();
    let groups = main.map_or_else(Vec::new, |level| {
        let tables = group_tables(level);
        tables.iter().map(|table| of_texts(table, &table.caption, &table.columns, &[])).collect()
    });
    let overall = main.map_or_else(Vec::new, |level| {
        GROUPS
            .iter()
            .map(|(heading, kinds)| {
                let table = overall_table(ranking, level, kinds);
                let caption = format!("{heading}. {}", table.caption);
                of_texts(&table, &caption, &table.columns, &[])
            })
            .collect()
    });
    let knowledge = knowledge_table(ranking).map(|(table, headings)| {
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        of_texts(&table, &table.caption, &headings, &[])
    });
    let worlds = main.map_or_else(Vec::new, |level| {
        let world = |world| {
            let table = world_table(level, world);
            World {
                heading: name(&world.world),
                about: paragraph(&world_facts(ranking, world)),
                decides: paragraph(&world.decides),
                table: of_texts(&table, &table.caption, &table.columns, &["decided by"]),
            }
        };
        level.worlds.iter().map(world).collect()
    });
    let quick = if ranking.quick { " (quick)" } else { "" };
    let frame = Frame {
        title: format!("Ranking of all policies{quick}"),
        heading: format!("Ranking of all policies{quick}"),
        lead: full(&ranking.title),
        glossary: glossary::ranking(),
        again,
    };
    let content = Content {
        answer: ranking.answer.iter().map(|text| paragraph(text)).collect(),
        picture,
        groups_about: paragraph(GROUP_CAPTION),
        groups,
        overall,
        knowledge,
        other_pictures,
        worlds,
        notes: ranking.notes.iter().map(|text| paragraph(text)).collect(),
        made_by: sentence(&made_by(ranking)),
    };
    rendered("ranking.html", &frame, &content)
}

/// Returns a table of texts. Columns named in `text` are of text, all others of numbers.
fn of_texts(table: &TextTable, caption: &str, headings: &[&str], text: &[&str]) -> Table {
    let column = |heading: &&str| Column { name: name(heading), text: text.contains(heading) };
    let cells = |row: &Vec<String>| row.iter().map(|cell| name(cell)).collect();
    Table {
        caption: sentence(caption),
        columns: headings.iter().map(column).collect(),
        rows: table.rows.iter().map(cells).collect(),
        stacked: false,
    }
}
