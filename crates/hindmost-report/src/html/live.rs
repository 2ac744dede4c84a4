//! The page of a run in progress. It is the only page with a script, and has no content of its own: the script fetches
//! snapshots of the run and shows them.

/// The live page: its text, and the contents of its two elements that a content security policy has to name.
#[derive(Clone, Debug)]
pub struct LivePage {
    /// The whole page.
    pub html: String,
    /// The content of its `style` element.
    pub style: String,
    /// The content of its `script` element.
    pub script: String,
}

/// Returns the page of a run in progress.
pub fn live_page() -> LivePage {
    let style = concat!(include_str!("templates/page.css"), include_str!("templates/live.css")).to_owned();
    let script = include_str!("templates/live.js").to_owned();
    let page = include_str!("templates/live.html").replace("{{ version }}", env!("CARGO_PKG_VERSION"));
    let html = page.replace("{{ style }}", &style).replace("{{ script }}", &script);
    LivePage { html, style, script }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_one_file_and_only_writes_text() {
        let page = live_page();
        assert!(page.html.contains(&format!("<style>{}</style>", page.style)));
        assert!(page.html.contains(&format!("<script>{}</script>", page.script)));
        // Nothing of the run may become markup or code.
        for forbidden in
            ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "</script"]
        {
            assert!(!page.script.contains(forbidden), "{forbidden}");
        }
        let without_parts = page.html.replace(&page.style, "").replace(&page.script, "");
        for outside in ["http:", "https:", "src=", "style=\"", "onclick", "onload"] {
            assert!(!without_parts.contains(outside), "{outside}");
        }
        for outside in ["http:", "https:", "@import", "url("] {
            assert!(!page.script.contains(outside) && !page.style.contains(outside), "{outside}");
        }
        assert!(without_parts.contains("<noscript>") && without_parts.contains("aria-live=\"polite\""));
    }
}
