//! Writes and escapes Markdown.

use std::fmt::Write as _;

/// Appends the headings of a table and the line below them.
pub(crate) fn header(text: &mut String, headings: &[&str]) {
    row(text, headings.iter());
    text.push('|');
    text.push_str(&" --- |".repeat(headings.len()));
    text.push('\n');
}

/// Appends a row of a table.
pub(crate) fn row(text: &mut String, cells: impl Iterator<Item = impl AsRef<str>>) {
    text.push('|');
    for cell in cells {
        let _ = write!(text, " {} |", escaped(cell.as_ref()));
    }
    text.push('\n');
}

/// Appends a picture from a file, and its caption.
pub(crate) fn picture(text: &mut String, title: &str, file: &str, caption: &str) {
    let _ = write!(text, "![{}]({file})\n\n{}\n\n", escaped(title), escaped(caption));
}

/// Escapes what Markdown would interpret; code between backticks stays code. Line ends become spaces, so that they do
/// not end a cell or a heading.
pub(crate) fn escaped(text: &str) -> String {
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
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'").replace(['\n', '\r'], " "))
}

/// Escapes text in HTML elements.
pub(crate) fn in_html(text: &str) -> String {
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
