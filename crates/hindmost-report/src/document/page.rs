//! Prints a document as a page of HTML, in one file that loads nothing and runs no scripts.

use std::fmt::Write as _;

use super::{Beside, Block, Column, Document, Layout, Mark, Picture, Role, Span, Table, Text, Tone};
use crate::figures::{Drawing, STYLE, markup};
use crate::html::{LONG, PARAGRAPH, SENTENCE, Step};
use crate::text::{beginning, escaped};

/// What all pages have besides their content.
pub(crate) struct Frame<'a> {
    pub(crate) title: String,
    pub(crate) heading: String,
    pub(crate) lead: String,
    pub(crate) glossary: Vec<[&'static str; 2]>,
    pub(crate) again: &'a [Step],
}

impl Document {
    /// Returns the page.
    pub(crate) fn page(mut self, frame: &Frame<'_>) -> String {
        self.heading(2, "Glossary");
        let mut content = Printer::default();
        content.blocks(&self.blocks);
        content.facts(
            " class=\"glossary\"",
            frame.glossary.iter().map(|[word, meaning]| ((*word).into(), (*meaning).into())),
        );
        let mut again = Document::new(self.form);
        if !frame.again.is_empty() {
            again.heading(2, "How to reproduce this");
        }
        for step in frame.again {
            again.paragraph(&step.text);
            again.code(&step.code);
        }
        content.blocks(&again.blocks);
        let [title, heading, lead] = [&frame.title, &frame.heading, &frame.lead].map(|text| short(text, PARAGRAPH));
        let (content, version) = (content.text, env!("CARGO_PKG_VERSION"));
        let style = include_str!("../html/templates/page.css");
        format!(
            r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8" />
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="generator" content="hindmost {version}" />
<title>{title}</title>
<style>
{style}{STYLE}</style>
</head>
<body>
<header>
<h1>{heading}</h1>
<p class="lead">{lead}</p>
</header>
<main>
{content}</main>
<footer>
<p>Made by hindmost {version}. This page is one file: it loads nothing and runs no scripts.</p>
</footer>
</body>
</html>
"#
        )
    }
}

/// Shortens a text to `most` letters and escapes it.
fn short(text: &str, most: usize) -> String {
    markup(&beginning(text, most, "…"))
}

/// Allows line breaks after brackets and commas inside of words of escaped text. Without them, browsers do not break names such as
/// `progress(uniform)`.
fn breakable(escaped: &str) -> String {
    let broken = escaped.replace('(', "(<wbr />").replace(',', ",<wbr />");
    broken.replace(" (<wbr />", " (").replace(",<wbr /> ", ", ")
}

/// Escapes and shortens a text of many lines. Line ends and tabs are kept.
fn lines(text: &str) -> String {
    let cut: String = text.chars().take(LONG).collect();
    let more = if cut.len() < text.len() { "\n…" } else { "" };
    let line = |line: &str| line.split('\t').map(escaped).map(|part| markup(&part)).collect::<Vec<_>>().join("\t");
    cut.trim_end().lines().map(line).collect::<Vec<_>>().join("\n") + more
}

impl Tone {
    fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Neutral => "",
            Tone::Bad => "bad",
            Tone::Unimportant => "soft",
        }
    }
}

impl Layout {
    fn class(self) -> &'static str {
        match self {
            Layout::Usual => "",
            Layout::Stacked => "stack",
            Layout::Claims => "stack claims",
            Layout::Headline => "stack claims headline",
            Layout::Matrix => "matrix",
        }
    }

    fn is_stacked(self) -> bool {
        matches!(self, Layout::Stacked | Layout::Claims | Layout::Headline)
    }
}

/// Returns an attribute, after a space; empty if it has no value.
fn attribute(name: &str, value: &str) -> String {
    if value.is_empty() { String::new() } else { format!(" {name}=\"{value}\"") }
}

/// What is printed of a page.
#[derive(Default)]
struct Printer {
    text: String,
    /// Number of drawings, whose ids must be unique.
    drawings: u32,
    /// The last heading.
    heading: String,
}

impl Printer {
    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading { level, place, text } => {
                self.heading = short(&text.unmarked(), SENTENCE);
                let opening = format!("<h{level}{}>", attribute("id", place));
                self.element(&opening, text, SENTENCE, &format!("</h{level}>\n"));
            }
            Block::Paragraph(role, text) => {
                let (class, [before, after]) = match role {
                    Role::Usual | Role::Finding => ("", ["", ""]),
                    Role::Answer => ("answer", ["", ""]),
                    Role::Note => ("small soft", ["", ""]),
                    Role::Small => ("small", ["", ""]),
                    Role::Caution => ("caution", ["", ""]),
                    Role::Failure => ("bad", ["", ""]),
                    Role::Quote => ("soft", ["“", "”"]),
                };
                let opening = format!("<p{}>{before}", attribute("class", class));
                self.element(&opening, text, PARAGRAPH, &format!("{after}</p>\n"));
            }
            Block::List(items) => self.list("<ul>", items),
            Block::Attempts(items) => self.list("<ul class=\"small attempts\">", items),
            Block::Facts(facts) => self.facts("", facts.iter().cloned()),
            Block::Entries(entries) => {
                for (name, lines) in entries {
                    self.element("<p>", name, PARAGRAPH, "</p>\n");
                    self.list("<ul>", lines);
                }
            }
            Block::Table(table) => self.table(table),
            Block::Picture(picture) => self.picture(picture),
            Block::Pictures(pictures) => {
                self.text += "<div class=\"pictures\">\n";
                for picture in pictures {
                    self.picture(picture);
                }
                self.text += "</div>\n";
            }
            Block::Details(summary, inside) => {
                self.element("<details>\n<summary>", summary, SENTENCE, "</summary>\n");
                self.blocks(inside);
                self.text += "</details>\n";
            }
            Block::Code(text) => {
                let _ = writeln!(self.text, "<pre>{}</pre>", lines(text));
            }
            Block::Beside(how, parts) => {
                self.text += match how {
                    Beside::Sections => "<div class=\"first\">\n",
                    Beside::Pictures => "<div class=\"pictures jobs\">\n",
                };
                for part in parts {
                    self.text += "<div>\n";
                    self.blocks(part);
                    self.text += "</div>\n";
                }
                self.text += "</div>\n";
            }
            Block::LaidOut(_) | Block::Gap => {}
        }
    }

    /// Prints text between `opening` and `closing`. Each part of it has at most `most` letters.
    fn element(&mut self, opening: &str, text: &Text, most: usize, closing: &str) {
        self.text += opening;
        self.spans(text, &|part| short(part, most));
        self.text += closing;
    }

    fn spans(&mut self, text: &Text, shown: &dyn Fn(&str) -> String) {
        for span in &text.0 {
            let part = shown(&span.text);
            let marked = match &span.mark {
                Mark::Plain => part,
                Mark::Strong => format!("<b>{part}</b>"),
                Mark::Code => format!("<code>{part}</code>"),
                Mark::Tone(tone) => format!("<span{}>{part}</span>", attribute("class", tone.class())),
                Mark::Link(to) => format!("<a href=\"{}\">{part}</a>", markup(to)),
                Mark::Place(name) => format!("<span id=\"{}\">{part}</span>", markup(name)),
                Mark::Line => format!("<span class=\"small soft id\">{part}</span>"),
                Mark::Drawing(drawing) => format!("<span class=\"strip\">{}</span>", self.inline(drawing)),
            };
            self.text += &marked;
        }
    }

    fn list(&mut self, opening: &str, items: &[Text]) {
        self.text += opening;
        self.text.push('\n');
        for item in items {
            self.element("<li>", item, PARAGRAPH, "</li>\n");
        }
        self.text += "</ul>\n";
    }

    fn facts(&mut self, attributes: &str, facts: impl Iterator<Item = (Text, Text)>) {
        let _ = writeln!(self.text, "<dl{attributes}>");
        for (name, value) in facts {
            self.text += "<dt>";
            self.spans(&name, &|part| breakable(&short(part, SENTENCE)));
            self.element("</dt>\n<dd>", &value, PARAGRAPH, "</dd>\n");
        }
        self.text += "</dl>\n";
    }

    fn table(&mut self, table: &Table) {
        let caption = short(&table.caption, PARAGRAPH);
        let label = if caption.is_empty() { &self.heading } else { &caption };
        let class = attribute("class", table.layout.class());
        let _ = writeln!(
            self.text,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n<table{class}>"
        );
        if !caption.is_empty() {
            let _ = writeln!(self.text, "<caption>{caption}</caption>");
        }
        self.text += "<thead><tr>";
        for column in &table.columns {
            let class = if column.is_text { " class=\"text\"" } else { "" };
            let opening = format!("<th scope=\"col\"{class}{}>", attribute("title", &short(&column.tip, SENTENCE)));
            self.element(&opening, &column.heading, SENTENCE, "</th>");
        }
        self.text += "</tr></thead>\n<tbody>\n";
        for row in &table.rows {
            self.text += "<tr>";
            for (at, cell) in row.iter().enumerate() {
                self.cell(cell, table.columns.get(at).filter(|_| at > 0), table.layout);
            }
            self.text += "</tr>\n";
        }
        self.text += "</tbody>\n</table>\n</div>\n";
    }

    /// Prints a cell of a column; `None` for the column of names.
    fn cell(&mut self, cell: &Text, column: Option<&Column>, layout: Layout) {
        let Some(column) = column else {
            self.text += "<th scope=\"row\"><bdi>";
            self.spans(cell, &|part| breakable(&short(part, SENTENCE)));
            self.text += "</bdi></th>";
            return;
        };
        let mut classes: Vec<&str> = column.is_text.then_some("text").into_iter().collect();
        let mut shown = cell.clone();
        // The only part of a cell needs no element of its own.
        if let [Span { mark, .. }] = &mut shown.0[..]
            && let Mark::Tone(tone) = mark
        {
            classes.extend(Some(tone.class()).filter(|class| !class.is_empty()));
            *mark = Mark::Plain;
        }
        let label = if layout.is_stacked() { short(&column.label, SENTENCE) } else { String::new() };
        let opening = format!("<td{}{}>", attribute("class", &classes.join(" ")), attribute("data-label", &label));
        self.element(&opening, &shown, SENTENCE, "</td>");
    }

    fn picture(&mut self, picture: &Picture) {
        let drawn = self.inline(&picture.drawing);
        let _ = match &picture.wide {
            None => writeln!(self.text, "<figure>\n{drawn}"),
            Some(wide) => {
                let wide = self.inline(wide);
                writeln!(
                    self.text,
                    "<figure class=\"whole\">\n<div class=\"wide\">{wide}</div>\n<div class=\"narrow\">{drawn}</div>"
                )
            }
        };
        let _ = writeln!(self.text, "<figcaption>{}</figcaption>\n</figure>", short(&picture.caption, PARAGRAPH));
    }

    fn inline(&mut self, drawing: &Drawing) -> String {
        self.drawings += 1;
        drawing.inline(&format!("p{}", self.drawings))
    }
}
