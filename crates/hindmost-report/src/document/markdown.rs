//! Prints a document as Markdown.

use super::{Block, Document, Mark, Picture, Role, Table, Text};

impl Document {
    /// Returns the Markdown.
    pub(crate) fn markdown(&self) -> String {
        blocks(&self.blocks, false) + "\n"
    }
}

/// Returns blocks with empty lines between them. In details, numbers are aligned to the right.
fn blocks(all: &[Block], in_details: bool) -> String {
    let shown: Vec<String> = all.iter().map(|one| block(one, in_details)).filter(|text| !text.is_empty()).collect();
    shown.join("\n\n")
}

fn block(block: &Block, in_details: bool) -> String {
    match block {
        Block::Heading { level, place, text } => {
            let place = if place.is_empty() { String::new() } else { format!("<a id=\"{place}\"></a>\n\n") };
            format!("{place}{} {}", "#".repeat(usize::from(*level)), marked(text))
        }
        Block::Paragraph(Role::Quote, text) => format!("> {}", marked(text)),
        Block::Paragraph(_, text) => marked(text).trim_end().to_owned(),
        Block::List(items) | Block::Attempts(items) => list(items.iter().map(marked)),
        Block::Facts(facts) => list(facts.iter().map(|(name, value)| format!("{}: {}", marked(name), marked(value)))),
        Block::Entries(entries) => list(entries.iter().map(|(name, lines)| {
            let lines = lines.iter().map(|line| format!("  - {}", marked(line)));
            std::iter::once(marked(name)).chain(lines).collect::<Vec<_>>().join("\n")
        })),
        Block::Table(table) => table_text(table, in_details),
        Block::Picture(picture) => picture_text(picture),
        Block::Pictures(pictures) => pictures.iter().map(picture_text).collect::<Vec<_>>().join("\n\n"),
        Block::Details(summary, inside) => {
            let summary = in_html(&summary.unmarked());
            format!("<details><summary>{summary}</summary>\n\n{}\n\n</details>", blocks(inside, true))
        }
        Block::Code(text) => format!("```text\n{}\n```", text.trim_end().replace("```", "'''")),
        Block::Beside(_, parts) => parts.iter().map(|part| blocks(part, in_details)).collect::<Vec<_>>().join("\n\n"),
        Block::LaidOut(_) | Block::Gap => String::new(),
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
}

fn picture_text(picture: &Picture) -> String {
    format!("![{}]({})\n\n{}", escaped(picture.drawing.title()), picture.file, escaped(&picture.caption))
}

/// Returns a table, with its caption as a sentence before it.
fn table_text(table: &Table, in_details: bool) -> String {
    let end = if table.caption.ends_with(['.', ':']) { "" } else { "." };
    let caption =
        if table.caption.is_empty() { String::new() } else { format!("{}{end}\n\n", escaped(&table.caption)) };
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let rule = |is_text: bool| if in_details && !is_text { "---:" } else { "---" }.to_owned();
    let headings = line(table.columns.iter().map(|column| marked(&column.heading)).collect());
    let rules = line(table.columns.iter().map(|column| rule(column.is_text)).collect());
    let rows = table.rows.iter().map(|row| line(row.iter().map(marked).collect()));
    caption + &[headings, rules].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

/// Returns text with its marks.
fn marked(text: &Text) -> String {
    let span = |span: &super::Span| match &span.mark {
        Mark::Strong => format!("**{}**", escaped(&span.text)),
        Mark::Code => code(&span.text),
        Mark::Link(to) => format!("[{}]({to})", escaped(&span.text)),
        Mark::Line => format!(" {}", escaped(&span.text)),
        Mark::Plain | Mark::Tone(_) | Mark::Place(_) | Mark::Drawing(_) => escaped(&span.text),
    };
    text.0.iter().map(span).collect()
}

/// Escapes what Markdown would interpret; code between backticks stays code. Line ends become spaces, so that they do
/// not end a cell or a heading.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let (mut in_code, mut left) = (false, text.matches('`').count());
    // Square brackets, such as those of intervals, can be a link only if one of these signs follows.
    let has_link = ["](", "][", "]:"].iter().any(|link| text.contains(link));
    for letter in text.chars() {
        if letter == '`' {
            left -= 1;
        }
        match letter {
            // A backtick begins code only if a later backtick ends the code.
            '`' if in_code || left > 0 => in_code = !in_code,
            // A bar would end a table cell even in code.
            '|' => escaped.push('\\'),
            '*' | '_' | '<' | '`' if !in_code => escaped.push('\\'),
            '[' | ']' if has_link && !in_code => escaped.push('\\'),
            _ => {}
        }
        escaped.push(if matches!(letter, '\n' | '\r') { ' ' } else { letter });
    }
    escaped
}

/// Returns a text as code.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'").replace('|', "\\|").replace(['\n', '\r'], " "))
}

/// Escapes text in HTML elements.
fn in_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_between_backticks_is_not_escaped() {
        assert_eq!(escaped("a_b (`per_node=2`) `"), "a\\_b (`per_node=2`) \\`");
        assert_eq!(escaped("`a|b*` * `"), "`a\\|b*` \\* \\`");
        assert_eq!(escaped("`"), "\\`");
    }

    #[test]
    fn intervals_stay_readable_and_links_are_escaped() {
        assert_eq!(escaped("1 [0, 2]\n|"), "1 [0, 2] \\|");
        assert_eq!(escaped("[a](https://example.org)"), "\\[a\\](https://example.org)");
    }
}
