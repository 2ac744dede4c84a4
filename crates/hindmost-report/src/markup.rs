//! Checks for tests that HTML or SVG is well formed, runs no scripts and loads nothing.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// An element of HTML or SVG. Entities in its attribute values and text are not decoded.
pub(crate) struct Element {
    pub(crate) name: String,
    /// Names and values of the attributes.
    pub(crate) attributes: Vec<(String, String)>,
    /// The text inside of the element, without the text of elements inside of it.
    pub(crate) text: String,
}

impl Element {
    /// Returns the value of an attribute.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

/// Returns all elements of a document in the order of their begin tags.
///
/// # Panics
/// If the document is not well formed: tags do not match, attributes have no quotes or are given twice, ids are not unique,
/// text is not escaped, or there are characters that XML cannot represent.
pub(crate) fn elements(markup: &str) -> Vec<Element> {
    for letter in markup.chars() {
        let odd = (letter.is_control() && !matches!(letter, '\n' | '\t')) || matches!(letter, '\u{fffe}' | '\u{ffff}');
        assert!(!odd, "{letter:?} in {}", around(markup, markup.find(letter).unwrap_or(0)));
        assert!(
            !matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}'),
            "{letter:?}"
        );
    }
    let mut found: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut reader = Reader::from_str(markup);
    reader.config_mut().expand_empty_elements = true;
    loop {
        let at = reader.buffer_position() as usize;
        // It fails if tags do not match.
        let event = reader.read_event().unwrap_or_else(|error| panic!("{error}: {}", around(markup, at)));
        let text = match event {
            Event::Start(begin) => {
                open.push(found.len());
                found.push(element(&begin));
                continue;
            }
            Event::End(_) => {
                open.pop();
                continue;
            }
            Event::Text(text) => text.to_string(),
            Event::GeneralRef(entity) => format!("&{};", &*entity),
            Event::DocType(_) => continue,
            Event::Eof => break,
            other => panic!("{other:?}"),
        };
        let Some(inside) = open.last().map(|at| &mut found[*at]) else {
            assert!(text.trim().is_empty(), "text outside: {text}");
            continue;
        };
        entities(&text);
        assert!(inside.name == "style" || !text.contains('>'), "{}", around(markup, at));
        inside.text += &text;
    }
    assert!(open.is_empty(), "{} is never closed", found[open[0]].name);
    let mut ids: Vec<&str> = found.iter().filter_map(|element| element.get("id")).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "an id is there twice: {ids:?}");
    found
}

/// Returns an element without its text.
fn element(begin: &BytesStart<'_>) -> Element {
    let mut attributes = Vec::new();
    for attribute in begin.attributes() {
        // It fails if an attribute has no quotes or is given twice.
        let attribute = attribute.unwrap_or_else(|error| panic!("{error}: {begin:?}"));
        let (name, value) = (attribute.key.as_ref().to_owned(), attribute.value.to_string());
        assert!(name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-'), "{name:?} in {begin:?}");
        assert!(!name.starts_with("on"), "a handler: {begin:?}");
        entities(&value);
        attributes.push((name, value));
    }
    Element { name: begin.name().as_ref().to_owned(), attributes, text: String::new() }
}

/// Checks that every `&` begins an entity.
fn entities(text: &str) {
    for part in text.split('&').skip(1) {
        let entity = part.split_once(';').map(|(entity, _)| entity);
        let known =
            entity.is_some_and(|entity| matches!(entity, "amp" | "lt" | "gt" | "quot") || entity.starts_with('#'));
        assert!(known, "an & that is not escaped: {part:.40}");
    }
}

/// Returns whether a link leads to a place in the same document or to a file in the same folder.
fn is_beside(link: &str) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let plain = |part: &str| part.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    plain(anchor) && (file.is_empty() || file.strip_suffix(".html").is_some_and(plain)) && !link.is_empty()
}

/// Returns the text before and after a position, for messages.
fn around(markup: &str, at: usize) -> String {
    let letters: Vec<char> = markup[..at].chars().rev().take(60).collect();
    letters.into_iter().rev().chain(markup[at..].chars().take(80)).collect()
}

/// The elements that pages and pictures may have.
const KNOWN: &str = "html head meta title style body header main footer h1 h2 h3 h4 p dl dt dd div figure figcaption \
    table caption thead tbody tr th td bdi pre details summary ul wbr a b li span code \
    svg desc g path rect text clipPath pattern";

/// Returns the elements of a document and checks that it is well formed, runs no scripts and loads nothing.
///
/// # Panics
/// If the document is not well formed, runs or loads something, or has an element that is not expected.
pub(crate) fn check(markup: &str) -> Vec<Element> {
    let found = elements(markup);
    for element in &found {
        let known = KNOWN.split_whitespace().any(|name| name == element.name);
        assert!(known, "<{}>", element.name);
        for (name, value) in &element.attributes {
            if element.name == "a" && name == "href" {
                assert!(is_beside(value), "{name}={value}");
                continue;
            }
            assert!(!["src", "href", "style", "action", "data"].contains(&name.as_str()), "{name}={value}");
            let outside =
                name != "xmlns" && (value.contains("://") || (value.contains("url(") && !value.starts_with("url(#")));
            assert!(!outside || ["data-label", "aria-label", "title"].contains(&name.as_str()), "{name}={value}");
        }
        if element.name == "style" {
            assert!(!element.text.contains("url(") && !element.text.contains("@import"), "a style loads something");
        }
    }
    found
}

#[test]
fn documents_that_are_not_well_formed_are_found() {
    check("<!DOCTYPE html>\n<p id=\"a\">x &amp; &#39;<b>y</b><a href=\"#a\"/></p>\n");
    for markup in [
        "<p><b></p></b>",
        "<p>",
        "</p>",
        "x<p/>",
        "<p id=a/>",
        "<p id=\"a\" id=\"b\"/>",
        "<p><b id=\"a\"/><b id=\"a\"/></p>",
        "<p>x & y</p>",
        "<p>x > y</p>",
        "<p>&nbsp;</p>",
        "<p title=\"&x\"/>",
        "<p>\u{202e}</p>",
        "<p onclick=\"x\"/>",
        "<script/>",
        "<p><a href=\"https://example.org\"/></p>",
    ] {
        assert!(std::panic::catch_unwind(|| check(markup)).is_err(), "{markup}");
    }
}
