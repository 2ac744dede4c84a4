//! The page of `run --serve` and `map --serve`: the state of the run in progress, in a browser.

use std::path::Path;

use hindmost_report::html::live_page;
use hindmost_run::live_view::{LiveView, Snapshot};
use hindmost_serve::{Page, ServeError, Server};

use crate::failure::{Failure, Outcome, say};

/// Checks the address of `--serve` without using it.
pub fn check(address: Option<&str>) -> Outcome {
    address.map_or(Ok(()), |address| hindmost_serve::loopback(address).map(drop).map_err(|error| unusable(&error)))
}

fn unusable(error: &ServeError) -> Failure {
    match error {
        ServeError::NotAnAddress(_) | ServeError::NotLoopback(_) => Failure::input(format!("--serve {error}")),
        ServeError::Unusable { .. } => {
            Failure::input(format!("--serve {error}; choose another port, or port 0 for a free one"))
        }
    }
}

/// Starts the server of the page of the run in a folder, if the user wants one, and says where the page is.
pub fn serve(address: Option<&str>, out: &Path) -> Outcome<Option<Server>> {
    let Some(address) = address else { return Ok(None) };
    let page = live_page();
    let page = Page { html: page.html, style: page.style, script: page.script };
    let mut view = LiveView::new(out);
    let server = Server::start(address, &page, move || {
        // The folder may not exist yet, or not any more: the last state stays.
        let refreshed = view.refresh();
        let mut snapshot: Snapshot = view.snapshot();
        if let Err(error) = refreshed {
            snapshot.problem.get_or_insert(error.to_string());
        }
        serde_json::to_vec(&snapshot).unwrap_or_default()
    });
    let server = server.map_err(|error| unusable(&error))?;
    say(&format!("the run can be seen at {}", server.url()));
    Ok(Some(server))
}
