//! Writing SVG: elements, escaped text, short numbers, and the styles that all pictures share.

use std::fmt::Write as _;

use crate::text;

/// Stands in a picture's body where the prefix of its ids goes. No text contains it: control characters are
/// escaped.
pub(super) const ID: char = '\u{1}';

/// The styles of all pictures, by class and without variables, so that viewers that know neither variables nor
/// media queries show the light picture.
pub(crate) const STYLE: &str = include_str!("style.css");

/// What stands in front of the ids of a picture that stands alone.
const ALONE: &str = "hindmost";

/// The most letters of what is told and not drawn.
const LONGEST: usize = 500;

/// What is left free around a picture that stands alone.
const MARGIN: f64 = 12.0;

/// A picture of a size of its own, which can stand alone or in a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    title: String,
    about: String,
    width: f64,
    height: f64,
    body: String,
}

impl Drawing {
    /// A picture with what it is called and what it shows, for those who can't see it.
    pub(super) fn new(title: &str, about: &str, width: f64, canvas: Canvas, height: f64) -> Drawing {
        Drawing { title: title.to_owned(), about: about.to_owned(), width, height, body: canvas.0 }
    }

    /// What it is called.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Width over height.
    pub fn shape(&self) -> f64 {
        self.width / self.height
    }

    /// The picture as a file of its own.
    pub fn standalone(&self) -> String {
        let mut text = self.opened(ALONE, " xmlns=\"http://www.w3.org/2000/svg\"", MARGIN);
        let [begin, width, height] = [-MARGIN, self.width + 2.0 * MARGIN, self.height + 2.0 * MARGIN].map(number);
        let _ = write!(
            text,
            "<style>\n{STYLE}</style>\n\
             <rect class=\"hm-bg\" x=\"{begin}\" y=\"{begin}\" width=\"{width}\" height=\"{height}\"/>\n"
        );
        text += &self.body.replace(ID, ALONE);
        text + "</svg>\n"
    }

    /// The picture as part of a page that has the styles of pictures; `id` is unique in the page.
    pub fn inline(&self, id: &str) -> String {
        self.opened(id, "", 0.0) + &self.body.replace(ID, id) + "</svg>"
    }

    fn opened(&self, id: &str, more: &str, margin: f64) -> String {
        let [begin, width, height] = [-margin, self.width + 2.0 * margin, self.height + 2.0 * margin].map(number);
        let mut text = format!(
            "<svg{more} class=\"hm\" viewBox=\"{begin} {begin} {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" aria-labelledby=\"{id}-title {id}-about\">\n"
        );
        let _ = writeln!(text, "<title id=\"{id}-title\">{}</title>", told(&self.title));
        let _ = writeln!(text, "<desc id=\"{id}-about\">{}</desc>", told(&self.about));
        text
    }
}

/// Where elements are written to.
#[derive(Clone, Debug, Default)]
pub(super) struct Canvas(String);

/// Which end of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    /// A horizontal or vertical or slanting line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        let _ = writeln!(self.0, "<path class=\"{class}\" d=\"M{x1} {y1}L{x2} {y2}\"/>");
    }

    /// A shape whose path is given.
    pub(super) fn path(&mut self, class: &str, d: &str) {
        let _ = writeln!(self.0, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// A rectangle; nothing without width or height.
    pub(super) fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        if width <= 0.0 || height <= 0.0 {
            return;
        }
        let [x, y, width, height] = [x, y, width.max(0.4), height.max(0.4)].map(number);
        let _ = writeln!(self.0, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
    }

    /// Text on one line, escaped; nothing if it is empty.
    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, anchor: Anchor, text: &str) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let [x, y] = [x, y].map(number);
        let _ = writeln!(self.0, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>", escaped(text));
    }

    /// Elements that are shown with a text where a pointer rests on them.
    pub(super) fn explained(&mut self, tip: &str, inside: impl FnOnce(&mut Canvas)) {
        let _ = writeln!(self.0, "<g><title>{}</title>", told(tip));
        inside(self);
        self.0.push_str("</g>\n");
    }

    /// Elements of which nothing outside a rectangle is shown; `name` is unique in the picture.
    pub(super) fn clipped(&mut self, name: &str, area: [f64; 4], inside: impl FnOnce(&mut Canvas)) {
        let [x, y, width, height] = area.map(number);
        let _ = writeln!(
            self.0,
            "<clipPath id=\"{ID}-{name}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></clipPath>\n\
             <g clip-path=\"url(#{ID}-{name})\">"
        );
        inside(self);
        self.0.push_str("</g>\n");
    }
}

/// A text that is told and not drawn: as much of it as somebody reads.
fn told(text: &str) -> String {
    escaped(&text::beginning(text, LONGEST, "…"))
}

/// A coordinate with as many digits as can be seen.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{:.1}", value.clamp(-1e6, 1e6));
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as XML takes it: what would be markup is shown, and what XML knows no way to write is an escape.
pub(crate) fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for letter in text::escaped(text).chars() {
        match letter {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\'' => written.push_str("&#39;"),
            _ => written.push(letter),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, -0.04, 12.0, 12.34, 1e9, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(shown, ["0", "0", "12", "12.3", "1000000", "0", "0"]);
    }

    #[test]
    fn nothing_of_a_text_is_markup() {
        let text = "</text><script>\"'&\u{1}\u{202e}\u{ffff}";
        let expected = "&lt;/text&gt;&lt;script&gt;&quot;&#39;&amp;\\u{1}\\u{202e}\\u{ffff}";
        assert_eq!(escaped(text), expected);
    }
}
