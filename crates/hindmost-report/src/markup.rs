//! Checks for tests that HTML or SVG is well formed, runs no scripts and loads nothing.

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
    let mut at = markup.strip_prefix("<!DOCTYPE html>").map_or(0, |rest| markup.len() - rest.len());
    while at < markup.len() {
        let next = markup[at..].find('<').map_or(markup.len(), |offset| at + offset);
        let text = &markup[at..next];
        let style = open.last().is_some_and(|element| found[*element].name == "style");
        if !style {
            entities(text);
            assert!(!text.contains('>'), "{}", around(markup, at));
        }
        match open.last() {
            Some(element) => found[*element].text += text,
            None => assert!(text.trim().is_empty(), "text outside: {text}"),
        }
        if next == markup.len() {
            break;
        }
        let end = next + markup[next..].find('>').unwrap_or_else(|| panic!("{}", around(markup, next)));
        let tag = &markup[next + 1..end];
        if let Some(name) = tag.strip_prefix('/') {
            let element = open.pop().unwrap_or_else(|| panic!("</{name}> closes nothing"));
            assert_eq!(found[element].name, name.trim(), "{}", around(markup, next));
        } else {
            let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
            found.push(element(tag));
            if !empty {
                open.push(found.len() - 1);
            }
        }
        at = end + 1;
    }
    assert!(open.is_empty(), "{} is never closed", found[open[0]].name);
    let mut ids: Vec<&str> = found.iter().filter_map(|element| element.get("id")).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "an id is there twice: {ids:?}");
    found
}

/// Parses the begin tag of an element.
fn element(tag: &str) -> Element {
    let mut rest = tag.trim();
    let name: String = rest.chars().take_while(|letter| !letter.is_whitespace()).collect();
    assert!(!name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric()), "<{tag}>");
    rest = rest[name.len()..].trim_start();
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("an attribute without quotes: <{tag}>"));
        assert!(name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-'), "{name:?} in <{tag}>");
        assert!(!name.starts_with("on"), "a handler: <{tag}>");
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("a quote is missing: <{tag}>"));
        entities(value);
        assert!(attributes.iter().all(|(other, _)| other != name), "{name} twice in <{tag}>");
        attributes.push((name.to_owned(), value.to_owned()));
        rest = after.trim_start();
    }
    Element { name, attributes, text: String::new() }
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
