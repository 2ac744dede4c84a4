//! Tests of the printers.

use super::*;
use crate::figures::HOSTILE;
use crate::markup::check;

/// A document with a block of each kind, whose texts are `text`.
fn every_block(form: Form, text: &str) -> Document {
    let mut document = Document::new(form);
    document.heading_at(2, "place", text);
    let marked = Text::from(text).strong(text).code(text).toned(Tone::Good, text).line(text);
    document.paragraph(marked.and(Text::default().link("#place", text)).place("here", text));
    document.paragraphs(Role::Quote, [text, ""]);
    document.list([text, text]);
    document.facts([(text, text)]);
    document.entry(text, [text, text]);
    for layout in [Layout::Usual, Layout::Stacked, Layout::Matrix] {
        let table = Table::new(text, &["a name:", text]).laid_out(layout);
        document.table(table.with_rows([[text, text]]));
    }
    document.details(text, |inside| {
        inside.attempts(vec![text.into()]);
        inside.code(text);
    });
    document.beside(Beside::Sections, [text, text], Document::paragraph);
    document
}

fn page(document: Document, text: &str) -> String {
    let [title, heading, lead] = [text; 3].map(str::to_owned);
    document.page(&Frame { title, heading, lead, glossary: vec![["a word", "its meaning"]], again: &[] })
}

#[test]
fn a_document_has_one_content_in_all_forms() {
    let text = every_block(Form::Terminal, "x").text(80);
    let table = "a name   x\n───────────\nx        x\n";
    assert!(text.starts_with("\nx\nxxxxxxx\nx\n- x\n- x\nx: x\n- x\n  x\n  x\nx\n"), "{text}");
    assert!(text.matches(table).count() == 3 && text.ends_with("- x\n    x\nx\nx\n"), "{text}");
    let markdown = every_block(Form::Markdown, "x").markdown();
    let begin = "<a id=\"place\"></a>\n\n## x\n\nx**x**`x`x x[x](#place)x\n\n> x\n\n- x\n- x\n\n- x: x\n\n- x\n  - x\n  - x\n\n";
    assert!(markdown.starts_with(begin), "{markdown}");
    assert!(markdown.contains("x.\n\n| a name | x |\n| --- | --- |\n| x | x |\n\n"), "{markdown}");
    assert!(markdown.ends_with("<details><summary>x</summary>\n\n- x\n\n```text\nx\n```\n\n</details>\n\nx\n\nx\n"));
    let page = page(every_block(Form::Page, "x"), "x");
    for part in [
        "<h2 id=\"place\">x</h2>\n<p>x<b>x</b><code>x</code><span class=\"good\">x</span>",
        "<a href=\"#place\">x</a><span id=\"here\">x</span></p>\n<p class=\"soft\">“x”</p>\n<ul>\n<li>x</li>\n<li>x</li>\n</ul>",
        "<dl>\n<dt>x</dt>\n<dd>x</dd>\n</dl>",
        "<th scope=\"col\" class=\"text\">a name</th><th scope=\"col\">x</th>",
        "<tr><th scope=\"row\"><bdi>x</bdi></th><td data-label=\"x\">x</td></tr>",
        "<details>\n<summary>x</summary>\n<ul class=\"small attempts\">\n<li>x</li>\n</ul>\n<pre>x</pre>\n</details>",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn every_text_of_a_page_is_escaped_and_shortened() {
    let long = "<x>&\u{202e}\n".repeat(200_000);
    for text in HOSTILE.into_iter().chain([long.as_str()]) {
        let page = page(every_block(Form::Page, text), text);
        check(&page);
        assert!(page.len() < 250_000 && !page.contains("<x>"), "{}: {text:.40}", page.len());
    }
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    for width in [24, 60, 120] {
        let text = every_block(Form::Terminal, "a\u{1b}[31m\u{202e}b").text(width);
        assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control() && letter != '\u{202e}'), "{text:?}");
        assert!(text.lines().all(|line| crate::text::columns(line) <= usize::from(width)), "{text}");
    }
}

#[test]
fn narrow_terminals_have_lists_in_place_of_tables() {
    let mut document = Document::new(Form::Terminal);
    let table = Table::new("", &["Name:", "Mean [95% interval]:", "Other:"]);
    document.table(table.with_rows([["one", "1 [0, 2]", "–"]]));
    assert_eq!(document.text(79), "- one\n  mean [95% interval]: 1 [0, 2]\n");
    assert!(document.text(80).starts_with("name   mean [95% interval]   other\n"), "{}", document.text(80));
}

#[test]
fn what_is_empty_is_left_out() {
    for form in [Form::Terminal, Form::Markdown, Form::Page] {
        let mut document = Document::new(form);
        document.paragraph("");
        document.list([""; 0]);
        document.facts([("", ""); 0]);
        document.table(Table::new("a caption", &["a heading"]));
        document.pictures(Vec::new());
        document.code("");
        document.details("a summary", |inside| inside.paragraph(""));
        assert_eq!(document, Document::new(form));
    }
}

#[test]
fn numbers_in_details_are_at_the_right() {
    let mut document = Document::new(Form::Markdown);
    document.details("all", |inside| inside.table(Table::new("", &["name:", "mean"]).with_rows([["a|b", "1"]])));
    let expected = "<details><summary>all</summary>\n\n| name | mean |\n| --- | ---: |\n| a\\|b | 1 |\n\n</details>\n";
    assert_eq!(document.markdown(), expected);
}
