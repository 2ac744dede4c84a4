use hindmost_core::policy::HeldBack;

use super::*;

const SAVED: TimeSaved = TimeSaved {
    low: 2.0,
    median: Some(3.2),
    high: Some(5.0),
    beaten: 4,
    by_progress: 0,
    by_durations: 4,
    unknown: 0,
    stalled: 0,
    if_as_long_again: None,
};

#[test]
fn saved_time_comes_with_its_interval_and_source() {
    assert_eq!(
        in_words(&SAVED, 10.0),
        "Without copies the job would have taken about 3.20 s longer (90% interval: 2.00 s to 5.00 s), estimated from the \
         durations of other attempts, which took longer than the 4 attempts that lost."
    );
    let measured = TimeSaved { low: 7.0, median: Some(7.0), high: Some(7.0), by_progress: 4, by_durations: 0, ..SAVED };
    assert_eq!(
        in_words(&measured, 10.0),
        "Without copies the job would have taken about 7.00 s longer, estimated from the progress of the 4 attempts that lost."
    );
    let both = TimeSaved { by_progress: 3, by_durations: 1, ..SAVED };
    assert!(in_words(&both, 10.0).ends_with(
        "estimated from the progress of 3 of the 4 attempts that lost and, for 1 of them, from the durations of other attempts, \
         which took longer."
    ));
    let one = TimeSaved { beaten: 1, by_durations: 1, ..SAVED };
    assert!(in_words(&one, 10.0).ends_with("other attempts, which took longer than the attempt that lost."));
    let schedule = TimeSaved { beaten: 0, by_durations: 0, ..SAVED };
    assert!(in_words(&schedule, 10.0).ends_with(", estimated from the schedule of the run."));
    let none = TimeSaved { low: -0.01, median: Some(0.0), high: Some(0.05), ..SAVED };
    assert!(in_words(&none, 10.0).starts_with("The job would have taken about as long without copies (estimated"));
    let either = TimeSaved { low: -1.0, median: Some(0.0), high: Some(2.0), ..SAVED };
    assert!(in_words(&either, 10.0).contains("about as long (90% interval: 1.00 s less to 2.00 s)"));
}

#[test]
fn unknown_ends_give_a_lower_bound() {
    let unknown = TimeSaved {
        low: 0.0,
        median: None,
        high: None,
        by_durations: 0,
        unknown: 4,
        if_as_long_again: Some(1.5),
        ..SAVED
    };
    assert_eq!(
        in_words(&unknown, 10.0),
        "How much that saved is not known: the 4 attempts that lost had run longer than any that finished, so nothing shows how long \
         they would have taken. If as much time again had been needed, the job would have taken 1.50 s longer."
    );
    let partly = TimeSaved { low: 2.0, unknown: 1, by_durations: 3, ..unknown };
    assert!(in_words(&partly, 10.0).starts_with(
        "Without copies the job would have taken at least 2.00 s longer. How much that saved is not known: 1 of the 4 attempts that lost"
    ));
    let stalled = TimeSaved { stalled: 4, ..unknown };
    assert!(in_words(&stalled, 10.0).contains(
        "not known: the 4 attempts that lost had not reported progress for long, so nothing shows how long they would have taken"
    ));
    let one = TimeSaved { stalled: 1, unknown: 1, beaten: 1, ..unknown };
    assert!(
        in_words(&one, 10.0).contains(
            "the attempt that lost had not reported progress for long, so nothing shows how long it would have"
        )
    );
    let some = TimeSaved { stalled: 3, ..unknown };
    assert!(in_words(&some, 10.0).contains(
        "of the 4 attempts that lost, 3 had not reported progress for long and 1 had run longer than any that finished, so nothing"
    ));
    let few = TimeSaved { unknown: 0, by_durations: 4, if_as_long_again: None, ..unknown };
    assert!(in_words(&few, 10.0).contains("too few attempts ran longer than the 4 attempts that lost"));
    let no_end = TimeSaved { high: None, ..SAVED };
    assert!(
        in_words(&no_end, 10.0).starts_with("Without copies the job would have taken about 3.20 s or more longer, ")
    );
}

#[test]
fn lessons_name_outcomes_and_effect() {
    let learned = Learned {
        won: 3,
        lost: 9,
        lost_weight: 8.5,
        effect: Effect::Rarer,
        factor: 4.0,
        by_age: true,
        as_long: None,
        held_back: HeldBack { by_outcomes: 5, by_budget: 1, by_resources: 0 },
    };
    assert_eq!(
        learned_in_words(&learned),
        "3 were faster than an older attempt of their task and 9 were slower or took long, so durations mostly belong to the \
         tasks, and an attempt gets a copy only at 4 times the usual age. For this reason, 5 late attempts got a copy later or \
         not at all. 1 late attempt got a copy later or not at all because copies had cost as much as they may until they win."
    );
    let none = HeldBack::default();
    let wins = Learned { lost: 0, effect: Effect::Sooner, factor: 1.0, held_back: none, ..learned };
    assert_eq!(
        learned_in_words(&wins),
        "3 were faster than an older attempt of their task and none was slower, so copies help, and an attempt gets one as \
         soon as it is late."
    );
    let waited = Learned { won: 0, held_back: HeldBack { by_resources: 2, ..none }, ..wins };
    assert_eq!(
        learned_in_words(&waited),
        "2 late attempts got a copy later or not at all because no slot was free. If they hang and are not long by nature, more \
         slots or a time limit with retries (time_limit; --timeout 300% --retries 2 of map) helps."
    );
    // Copies have shown that tasks take long by nature.
    let long = learned_in_words(&Learned { lost: 2, ..waited });
    assert!(long.contains("because no slot was free.") && !long.contains("--timeout"), "{long}");
    let measured = Learned { effect: Effect::Usual, as_long: Some(0.5), by_age: false, ..wins };
    assert!(
        learned_in_words(&measured)
            .ends_with("A copy takes as long as its original with an estimated probability of 50.0%.")
    );
}
