//! `hindmost verify`: checks that the policy of a recorded run makes the same decisions again.

use hindmost_core::verify::{Verification, Verified, Verifier};
use hindmost_policies::catalogue;
use hindmost_trace::TraceError;
use hindmost_trace::journal::{self, JournalRecords};

use crate::cli::VerifyArgs;
use crate::failure::{Failure, Outcome};
use crate::terminal;

use super::trace::with_progress;

/// Verifies a journal and prints the result. A difference is a failure.
pub fn run(args: &VerifyArgs) -> Outcome {
    let verdict = with_progress(|progress| Ok(verify(journal::records(&args.journal, Some(progress))?)))??;
    if args.json {
        terminal::print_json(&verdict)?;
    } else {
        terminal::print(&text(&verdict))?;
    }
    match verdict.difference {
        None => Ok(()),
        Some(difference) => {
            Err(Failure::work(format!("the policy does not make the recorded decisions again: {difference}")))
        }
    }
}

fn verify(mut records: JournalRecords<'_>) -> Outcome<Verification> {
    let (journal, header) = (records.name().to_owned(), records.header().clone());
    let mut session = catalogue::session_of(&header).map_err(|error| {
        Failure::input(format!(
            "{journal}: this version of Hindmost does not have the journal's policy: {error}; verify it with the version \
             that wrote it"
        ))
    })?;
    let mut verifier = Verifier::new(&mut session, header.is_live());
    let mut difference = None;
    // Read to the end even after a difference, so that an unreadable line is always reported.
    while let Some(record) = records.next() {
        let record = record.map_err(|error: TraceError| Failure::input(error))?;
        if difference.is_none() {
            let line = records.line();
            difference = verifier.check(record).err().map(|found| format!("line {line}: {found}"));
        }
    }
    // The run of a journal that ends in the middle of a round was cut short.
    let unfinished = difference.is_none() && verifier.finish().is_err();
    let Verified { events, rounds, decisions } = verifier.verified();
    Ok(Verification {
        journal,
        policy: header.policy,
        knowledge: header.knowledge.to_string(),
        events,
        rounds,
        decisions,
        same: difference.is_none(),
        difference,
        cut_short: records.cut_short() || unfinished,
    })
}

fn text(verdict: &Verification) -> String {
    let mut text = format!("{}\n", verdict.journal);
    let mut line = |what: &str, value: String| text += &format!("  {what:<12} {value}\n");
    line("policy", verdict.policy.clone());
    line("knowledge", verdict.knowledge.clone());
    line("events", verdict.events.to_string());
    line("rounds", verdict.rounds.to_string());
    line("decisions", verdict.decisions.to_string());
    let until = if verdict.cut_short { " up to the end of the journal, which is cut short" } else { "" };
    line(
        "result",
        if verdict.same {
            format!("the policy makes the same decisions again{until}")
        } else {
            "the policy makes different decisions".to_owned()
        },
    );
    text
}
