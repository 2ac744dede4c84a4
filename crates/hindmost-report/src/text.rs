//! Prepares text for terminals: measures its width in columns, escapes, shortens and wraps it, and formats numbers.

use comfy_table::Table;

/// Number of columns that is assumed if the terminal's width is unknown.
const DEFAULT_COLUMNS: u16 = 80;

/// Returns the width of the terminal behind standard error, in columns; 80 if it is unknown.
pub fn stderr_width() -> u16 {
    let mut table = Table::new();
    table.use_stderr().width().filter(|columns| *columns > 0).unwrap_or(DEFAULT_COLUMNS)
}

/// Returns the number of terminal columns that a line of text takes.
pub fn columns(line: &str) -> usize {
    if line.is_ascii() {
        return line.len();
    }
    // Tables measure the text, so that the width is the space that tables reserve for it. The letter x is added because
    // a table's column has at least one column of text, but a single combining mark takes none.
    let mut table = Table::new();
    table.add_row([format!("x{line}")]);
    table.column_max_content_widths().first().map_or(0, |columns| usize::from(*columns).saturating_sub(1))
}

/// Replaces characters that a terminal does not show, but that may have an effect, by escape sequences: control
/// characters, marks of the writing direction, invisible spaces, and code points that are no characters.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        let invisible = matches!(
            letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}'
        );
        if letter.is_control() || invisible {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Escapes a name and shortens it to at most `width` columns. The ellipsis replaces the middle, because similar names
/// usually differ at their beginning or end.
pub fn name(name: &str, width: usize, ellipsis: &str) -> String {
    // Only the letters that may be shown are read, because names can be very long.
    let most = width.saturating_mul(4).max(16);
    let count = name.chars().take(2 * most + 1).count();
    if count <= 2 * most {
        let whole = escaped(name);
        if columns(&whole) <= width {
            return whole;
        }
    }
    let space = width.saturating_sub(columns(ellipsis));
    let head: Vec<char> = escaped(&name.chars().take(most).collect::<String>()).chars().collect();
    let tail: String = name.chars().rev().take(most).collect::<Vec<_>>().into_iter().rev().collect();
    let tail: Vec<char> = escaped(&tail).chars().rev().collect();
    let head = longest(&head, space.div_ceil(2));
    let tail: String = longest(&tail, space - columns(&head).min(space)).chars().rev().collect();
    if width < columns(ellipsis) { head } else { format!("{head}{ellipsis}{tail}") }
}

/// Escapes a line and shortens it to at most `width` columns. The ellipsis replaces the end.
pub fn beginning(line: &str, width: usize, ellipsis: &str) -> String {
    // Only the letters that may be shown are read, because lines can be very long.
    let most = width.saturating_mul(4).max(16);
    let whole = escaped(&line.chars().take(most).collect::<String>());
    if columns(&whole) <= width && line.chars().nth(most).is_none() {
        return whole;
    }
    let letters: Vec<char> = whole.chars().collect();
    longest(&letters, width.saturating_sub(columns(ellipsis)))
        + &ellipsis[..if width == 0 { 0 } else { ellipsis.len() }]
}

/// Escapes names and shortens each of them to at most `width` columns. If some names are too long, the common ending of
/// all names is removed first (such as a domain), then their common beginning (such as a cluster's name), so that the
/// names stay different.
pub fn names(names: &[impl AsRef<str>], width: usize, ellipsis: &str) -> Vec<String> {
    let mut parts: Vec<String> = names.iter().map(|name| escaped(name.as_ref())).collect();
    for at_end in [true, false] {
        let longest = parts.iter().map(|part| columns(part)).max().unwrap_or(0);
        let cut = shared(&parts, at_end).min((longest + columns(ellipsis)).saturating_sub(width));
        if longest > width && cut > columns(ellipsis) {
            for part in &mut parts {
                let kept = part.chars().count() - cut;
                *part = if at_end {
                    part.chars().take(kept).chain(ellipsis.chars()).collect()
                } else {
                    ellipsis.chars().chain(part.chars().skip(cut)).collect()
                };
            }
        }
    }
    parts.iter().map(|part| name(part, width, ellipsis)).collect()
}

/// Returns the number of letters of the common ending of all texts, or of their common beginning.
fn shared(texts: &[String], at_end: bool) -> usize {
    let [first, others @ ..] = texts else { return 0 };
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let with_first = |other: &String| {
        if at_end {
            first.chars().rev().zip(other.chars().rev()).take_while(same).count()
        } else {
            first.chars().zip(other.chars()).take_while(same).count()
        }
    };
    others.iter().map(with_first).min().unwrap_or(0)
}

/// Returns the first letters, as many as fit into `width` columns.
fn longest(letters: &[char], width: usize) -> String {
    let mut fits = String::new();
    for letter in letters {
        fits.push(*letter);
        if columns(&fits) > width {
            fits.pop();
            break;
        }
    }
    fits
}

/// Appends spaces to a text until it has `width` columns.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Wraps text at spaces into lines of at most `width` columns, and indents all lines but the first. A word that is
/// longer than a line is broken. A number in groups of digits, such as `1 000`, is not broken.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let space = width.saturating_sub(indent).max(1);
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in words(text) {
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let limit = if lines.is_empty() { width.max(1) } else { space };
            let gap = usize::from(!line.is_empty());
            // Only the letters that may fit are read, because words can be very long.
            let whole: String = rest.iter().take(2 * limit + 1).collect();
            if rest.len() <= 2 * limit && columns(&line) + gap + columns(&whole) <= limit {
                line += &" "[..gap];
                line += &whole;
                break;
            }
            if gap > 0 {
                lines.push(std::mem::take(&mut line));
                continue;
            }
            // At least one letter is written to each line, even if it is wider than the line.
            let fits = longest(&rest, limit).chars().count().max(1);
            let part: String = rest.drain(..fits).collect();
            lines.push(part);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// Wraps text into lines of at most `width` columns. The first line begins with `indent`, and each other line with as
/// many spaces. The text ends with a line feed.
pub fn indented(indent: &str, text: &str, width: usize) -> String {
    let space = width.saturating_sub(columns(indent)).max(1);
    let lines = wrapped(text, space, 0).replace('\n', &format!("\n{}", " ".repeat(columns(indent))));
    format!("{indent}{lines}\n")
}

/// Wraps text as [`indented`] does. If the label leaves fewer than 28 columns of a line, it has lines of its
/// own, and the text below it is indented by two columns more than the label.
pub fn labelled(label: &str, text: &str, width: usize) -> String {
    if text.is_empty() || columns(label) + LEAST_BESIDE <= width {
        return indented(label, text, width);
    }
    let indent = columns(label) - columns(label.trim_start());
    let above = indented(&" ".repeat(indent), label.trim(), width);
    above + &indented(&" ".repeat(indent + 2), text, width)
}

/// Smallest number of columns of a line that a text beside a label has.
const LEAST_BESIDE: usize = 28;

/// Splits a text into words. A number in groups of digits, as [`grouped`] writes it, is one word.
fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let mut begin = 0;
    for word in text.split(' ') {
        let end = begin + word.len();
        let digits = word.chars().take_while(char::is_ascii_digit).count();
        let goes_on = |last: &&mut &str| digits == 3 && last.ends_with(|letter: char| letter.is_ascii_digit());
        match words.last_mut().filter(goes_on) {
            // Two groups of digits are one number only if exactly one space separates them.
            Some(last) if text[..begin - 1].ends_with(*last) => *last = &text[begin - 1 - last.len()..end],
            _ if word.is_empty() => {}
            _ => words.push(word),
        }
        begin = end + 1;
    }
    words
}

/// Formats a time span, given in seconds, in units that suit its length, from milliseconds to days.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round();
    match seconds {
        _ if !seconds.is_finite() => "–".to_owned(),
        _ if seconds < 0.0005 => "0 s".to_owned(),
        _ if seconds < 0.9995 => format!("{:.0} ms", seconds * 1000.0),
        _ if seconds < 9.995 => format!("{seconds:.2} s"),
        _ if seconds < 99.95 => format!("{seconds:.1} s"),
        _ if whole < 300.0 => format!("{whole:.0} s"),
        _ if whole < 3600.0 => format!("{:.0} min {:02.0} s", (whole / 60.0).floor(), whole % 60.0),
        _ => {
            let minutes = (seconds / 60.0).round();
            let hours = (minutes / 60.0).floor();
            if hours < 48.0 {
                format!("{hours:.0} h {:02.0} min", minutes % 60.0)
            } else {
                format!("{:.0} d {:02.0} h", (hours / 24.0).floor(), hours % 24.0)
            }
        }
    }
}

/// Formats a time span as [`duration`] does; a dash if it is unknown.
pub(crate) fn known(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "–".to_owned(), duration)
}

/// Formats a count with its noun `what`, which gets an s unless the count is 1: `1 000 tasks`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Formats a count in groups of three digits: `1 234 567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns a text with a capital first letter.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    first + letters.as_str()
}

/// Turns a text into a sentence that begins with a capital letter and ends with a full stop.
pub(crate) fn full(text: &str) -> String {
    let end = if text.ends_with(['.', '!', '?', '…']) || text.is_empty() { "" } else { "." };
    capitalised(text) + end
}

/// Formats a share from 0 to 1 in per cent, with one decimal.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escaped("a\x1b[31m\nb\u{202e}c\u{9b}é"), "a\\u{1b}[31m\\nb\\u{202e}c\\u{9b}é");
    }

    #[test]
    fn names_are_shortened_to_their_width_in_columns() {
        assert_eq!(name("node-1", 6, "…"), "node-1");
        assert_eq!(name("node-12345", 6, "…"), "nod…45");
        assert_eq!(name("日本語のノード", 8, "…"), "日本…ド");
        assert_eq!(name(&"x".repeat(1 << 20), 5, "..."), "x...x");
        assert_eq!(name("abc", 0, "…"), "");
        assert_eq!(beginning("a long line", 7, "…"), "a long…");
        assert_eq!(beginning(&"語".repeat(1 << 20), 6, "…"), "語語…");
        for width in 0..20 {
            for text in ["e\u{301}\u{301}fg日本\u{7}語のノ", "plain-text-of-some-length", "👩‍👩‍👧‍👦 family"]
            {
                assert!(columns(&name(text, width, "…")) <= width, "{text} {width}");
                assert!(columns(&beginning(text, width, "…")) <= width, "{text} {width}");
            }
        }
    }

    #[test]
    fn a_combining_mark_takes_no_column() {
        assert_eq!([columns("\u{335}"), columns("e\u{301}"), columns("語"), columns("❤\u{fe0f}")], [0, 1, 2, 2]);
        assert_eq!(padded("\u{335}", 3), "\u{335}   ");
    }

    #[test]
    fn similar_names_stay_different_when_shortened() {
        assert_eq!(names(&["a.example.org", "b.example.org"], 6, "…"), ["a.exa…", "b.exa…"]);
        assert_eq!(names(&["cluster-node-1", "cluster-node-2"], 6, "…"), ["…ode-1", "…ode-2"]);
        assert_eq!(names(&["same-long-name", "same-long-name"], 6, "…"), ["same-…", "same-…"]);
        assert_eq!(names(&["short", "names"], 6, "…"), ["short", "names"]);
        assert!(names(&[""; 0], 6, "…").is_empty());
    }

    #[test]
    fn text_wraps_at_spaces_and_breaks_long_words() {
        assert_eq!(wrapped("one two three", 7, 0), "one two\nthree");
        assert_eq!(wrapped("one two three four", 9, 2), "one two\n  three\n  four");
        assert_eq!(wrapped("a abcdefghij", 5, 2), "a\n  abc\n  def\n  ghi\n  j");
        assert_eq!(wrapped("語語", 1, 0), "語\n語");
        assert_eq!(indented("  - ", "one two three", 11), "  - one two\n    three\n");
        assert_eq!(wrapped("about 20 000, or 1 234 567 of 3  100", 10, 0), "about\n20 000, or\n1 234 567\nof 3 100");
    }

    #[test]
    fn durations_have_a_unit_that_suits_their_length() {
        for (seconds, expected) in [
            (0.0, "0 s"),
            (0.0421, "42 ms"),
            (0.9997, "1.00 s"),
            (9.996, "10.0 s"),
            (59.94, "59.9 s"),
            (299.6, "5 min 00 s"),
            (3599.7, "1 h 00 min"),
            (7_325.0, "2 h 02 min"),
            (180_000.0, "2 d 02 h"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(duration(seconds), expected);
        }
        assert_eq!([grouped(999), grouped(1_234_567)], ["999", "1 234 567"]);
        assert_eq!(counted(1, "task") + " " + &counted(1000, "task"), "1 task 1 000 tasks");
    }

    #[test]
    fn long_labels_get_lines_of_their_own() {
        let text = "one two three four five six seven";
        // 40 columns leave 31 beside the label, 36 only 27.
        assert_eq!(labelled("  label: ", text, 40), "  label: one two three four five six\n         seven\n");
        assert_eq!(labelled("  label: ", text, 36), "  label:\n    one two three four five six\n    seven\n");
        assert_eq!(labelled("  label: ", "", 20), indented("  label: ", "", 20));
    }
}
