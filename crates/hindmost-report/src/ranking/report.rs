//! The document of a ranking: what it shows, the tables over all worlds, and what decides in each world.

use hindmost_claims::{OverallRow, RankedKind, Ranking, RankingLevel};

use super::{
    GROUP_CAPTION, GROUPS, change, difference, group_tables, knowledge_table, made_by, mean_rank, mean_rank_interval,
    overall_table, pictures, pocd_worlds, range, sorted, world_facts, world_table,
};
use crate::document::{Document, Form, Frame, Picture, Role, Table, Text};
use crate::html::{Step, glossary};
use crate::reproduction::{PlotFile, begin};
use crate::table::{Column, named, narrowed};
use crate::text::full;

const HEADING: &str = "Ranking of all policies";
/// Largest width of names in a terminal.
const NAMES: usize = 28;

/// The columns in a terminal.
const COLUMNS: [Column<OverallRow>; 9] = [
    Column { heading: "mean rank", from_width: 0, cell: |row| mean_rank(&row.flowtime) },
    Column { heading: "95% interval", from_width: 110, cell: |row| mean_rank_interval(row.flowtime.mean_rank_ci95) },
    Column { heading: "flowtime", from_width: 0, cell: |row| change(row.flowtime.change) },
    Column { heading: "ranks", from_width: 60, cell: |row| range(&row.flowtime) },
    Column { heading: "worst", from_width: 90, cell: |row| change(row.flowtime.worst_change) },
    Column { heading: "p99", from_width: 70, cell: |row| change(row.flowtime_p99.change) },
    Column { heading: "resource", from_width: 50, cell: |row| change(row.resource.change) },
    Column { heading: "energy", from_width: 100, cell: |row| change(row.energy.change) },
    Column { heading: "PoCD", from_width: 80, cell: |row| difference(row.pocd.change) },
];

/// Returns the ranking as text of at most `width` columns: what it shows, the table over all worlds under the main progress
/// model, and what decides in each world. The pages have the tables of all worlds.
pub fn text(ranking: &Ranking, width: u16) -> String {
    let mut document = Document::new(Form::Terminal);
    opening(&mut document, ranking);
    let Some(level) = ranking.levels.first() else { return document.text(width.max(20)) };
    for (heading, kinds) in GROUPS {
        let rows = sorted(ranking, level, kinds);
        if rows.is_empty() {
            continue;
        }
        document.gap();
        document.laid_out(narrowed(&COLUMNS, width, NAMES, |columns, name_width| {
            let rows = rows.iter().map(|at| &level.overall[*at]);
            let named_rows = rows.map(|row| (crate::text::name(&row.policy, name_width, "…"), row));
            named(&crate::text::name(&heading.to_lowercase(), name_width, "…"), named_rows, columns)
        }));
    }
    document.gap();
    document.paragraph(format!(
        "All {} worlds with {}: mean rank and ranks by mean flowtime among {} policies. Flowtime, p99, resource and \
         energy: typical change against none (geometric mean of the worlds' ratios); worst: mean flowtime in the world \
         where it is worst; PoCD: mean difference of the probability of meeting a deadline. Energy is above idle{}.",
        level.worlds.len(),
        level.knowledge,
        ranking.policies.len(),
        pocd_worlds(level)
    ));
    for world in &level.worlds {
        document.gap();
        document.paragraph(format!("{}: {}", world.world, world_facts(ranking, world)));
        document.paragraph(&world.decides);
    }
    document.gap();
    document.paragraphs(Role::Usual, &ranking.notes);
    document.paragraph(format!("Command: hindmost {}. {}", ranking.command, made_by(ranking)));
    document.text(width.max(20))
}

/// Returns the Markdown: what the ranking shows, the table over all worlds, and a table for each world. It shows the pictures
/// of [`pictures`] from the folder `ranking`.
pub fn markdown(ranking: &Ranking) -> String {
    let mut document = Document::new(Form::Markdown);
    opening(&mut document, ranking);
    all_tables(&mut document, ranking);
    document.markdown()
}

/// Returns the page of HTML, with the content of [`markdown`]. `again` says how to make it again.
pub fn html_page(ranking: &Ranking, again: &[Step]) -> String {
    let mut document = Document::new(Form::Page);
    opening(&mut document, ranking);
    all_tables(&mut document, ranking);
    let heading = format!("{HEADING}{}", if ranking.quick { " (quick)" } else { "" });
    let (lead, glossary) = (full(&ranking.title), glossary::ranking());
    document.page(&Frame { title: heading.clone(), heading, lead, glossary, again })
}

fn opening(document: &mut Document, ranking: &Ranking) {
    let Ranking { paper, title, quick, answer, .. } = ranking;
    begin(document, (paper, HEADING, title), *quick, answer.iter().map(|sentence| (sentence.as_str(), "")));
}

fn all_tables(document: &mut Document, ranking: &Ranking) {
    let Some(level) = ranking.levels.first() else { return };
    let is_page = document.form() == Form::Page;
    let mut drawn = pictures(ranking).into_iter().map(|PlotFile { file, drawing, caption }| {
        let title = if is_page { format!("{}. ", drawing.title()) } else { String::new() };
        Picture { file: format!("ranking/{file}"), ..Picture::new(drawing, title + &caption) }
    });
    drawn.next().into_iter().for_each(|picture| document.picture(picture));
    let groups = group_tables(level);
    if !groups.is_empty() {
        document.heading(2, "Who is first");
        document.paragraph(format!("{GROUP_CAPTION}."));
    }
    for table in groups {
        let caption = format!("{}:", table.caption);
        add_table(document, table, caption);
    }
    over_all_worlds(document, ranking, level);
    if let Some(table) = knowledge_table(ranking) {
        document.heading(2, "What policies know");
        let caption = table.caption.clone();
        add_table(document, table, caption);
        if is_page {
            drawn.for_each(|picture| document.picture(picture));
        }
    }
    document.heading(2, "Worlds");
    document.paragraph(
        Text::from("Tables are for ")
            .code(&level.knowledge)
            .plain(". The scenario of each world is a file in the folder ")
            .code("ranking")
            .plain(", with all policies and seeds, for ")
            .code("hindmost simulate")
            .plain("."),
    );
    for world in &level.worlds {
        document.heading(3, &world.world);
        document.paragraph(world_facts(ranking, world));
        document.paragraph(&world.decides);
        let table = world_table(level, world);
        let caption = table.caption.clone();
        document.details("All policies", |inside| add_table(inside, table, caption));
    }
    document.heading(2, "How to read this");
    document.list(&ranking.notes);
    document.paragraph(Text::from("Made by ").code(format!("hindmost {}", ranking.command)).plain(format!(
        " (hindmost {}). {} The same command gives the same numbers on any number of threads.",
        env!("CARGO_PKG_VERSION"),
        made_by(ranking)
    )));
}

fn over_all_worlds(document: &mut Document, ranking: &Ranking, level: &RankingLevel) {
    let is_page = document.form() == Form::Page;
    document.heading(2, "Over all worlds");
    for (heading, kinds) in GROUPS {
        let table = overall_table(ranking, level, kinds);
        // All tables of Markdown have one caption.
        if !is_page && kinds == [RankedKind::System] {
            document.paragraph(format!("{}.", table.caption));
        }
        let caption = if is_page { format!("{heading}. {}", table.caption) } else { format!("{heading}:") };
        add_table(document, table, caption);
    }
}

/// Adds a table; Markdown shows names of policies as code.
fn add_table(document: &mut Document, mut table: Table, caption: String) {
    table.caption = caption;
    if document.form() == Form::Markdown {
        for name in table.rows.iter_mut().filter_map(|row| row.first_mut()) {
            *name = Text::default().code(name.unmarked());
        }
    }
    document.table(table);
}
