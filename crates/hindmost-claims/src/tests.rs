use super::*;

fn measured(reading: &str, mean: f64, half: f64) -> Measured {
    Measured { ci95: Some([mean - half, mean + half]), ..Measured::exact(reading, "change", Some(mean), "%") }
}

fn verdict(expected: Expected, readings: Vec<Measured>) -> Verdict {
    Claim::judge("faster", "A is faster than B", "I", Part::judge(expected, readings), Vec::new(), "").verdict
}

#[test]
fn verdicts_depend_on_how_many_readings_hold() {
    let near = Expected::near(-60.0, 5.0);
    assert_eq!(verdict(near, vec![measured("a", -57.0, 1.0), measured("b", -65.0, 9.0)]), Verdict::Reproduced);
    let some = verdict(near, vec![measured("a", -40.0, 1.0), measured("b", -61.0, 1.0)]);
    assert_eq!(some, Verdict::ReproducedUnder { readings: vec!["b".to_owned()] });
    let none = verdict(near, vec![measured("a", -40.0, 1.0), measured("b", 3.25, 0.5)]);
    let why = "measured \u{2212}40% [\u{2212}41, \u{2212}39] (a) to 3.25% [2.75, 3.75] (b), \
               expected from \u{2212}65% to \u{2212}55%";
    assert_eq!(none, Verdict::NotReproduced { why: why.to_owned() });
}

#[test]
fn a_rule_for_the_whole_interval_excludes_its_limit() {
    let below = Expected::below(0.0);
    assert!(below.accepts(Some(-1.0), Some([-1.5, -0.5])));
    assert!(!below.accepts(Some(-1.0), Some([-2.5, 0.5])));
    assert!(!below.accepts(Some(0.0), Some([0.0, 0.0])));
    assert!(Expected::at_most(0.0).accepts(Some(0.0), Some([-1.0, 1.0])));
    assert!(!Expected::above(0.0).accepts(Some(1.0), Some([-0.1, 2.1])));
}

#[test]
fn a_reading_without_a_value_does_not_hold() {
    let missing = Measured::over_seeds("a", "x", &[1.0, f64::NAN], "s");
    assert_eq!((missing.mean, missing.ci95), (None, None));
    let none = verdict(Expected::at_most(1.0), vec![missing]);
    assert_eq!(none, Verdict::NotReproduced { why: "there is no value to compare".to_owned() });
    let none = verdict(Expected::at_most(1.0), vec![Measured::over_seeds("a", "x", &[], ""), measured("b", 2.0, 0.0)]);
    assert!(matches!(none, Verdict::NotReproduced { why } if why.contains("no value under 1 reading,")));
}

#[test]
fn numbers_have_three_or_four_significant_digits() {
    for (number, text) in [
        (0.0, "0"),
        (1.70711, "1.71"),
        (1234.5, "1234"),
        (26914.2, "26910"),
        (26914.0, "26914"),
        (-0.01234, "\u{2212}0.0123"),
        (100.0, "100"),
        (8.9e-16, "0"),
        (4.5e-7, "< 0.0001"),
        (-1.59e-5, "> \u{2212}0.0001"),
        (2.5e9, "2500000000"),
        (2.5e18, "2.5·10^18"),
    ] {
        assert_eq!(number_text(number), text);
    }
    assert_eq!([-1.59e-5, 8.4e-5, 0.0643].map(rounded_text), ["0", "0.0001", "0.0643"]);
}

#[test]
fn rules_have_the_unit_of_the_measured_values() {
    let rule = |expected: Expected, unit: &str, interval| {
        let values: &[f64] = if interval { &[1.0, 2.0] } else { &[1.0] };
        Part::judge(expected, vec![Measured::over_seeds("a", "x", values, unit)]).rule()
    };
    for (text, expected, unit, interval) in [
        ("from \u{2212}65% to \u{2212}55%", Expected::near(-60.0, 5.0), "%", true),
        ("from 1.706 to 1.708 mean durations", Expected::near(1.707, 0.001), "mean durations", false),
        ("equal to 46 s", Expected::near(46.0, 0.0), "s", false),
        ("at most 0.000000001 of the delay", Expected::at_most(1e-9), "of the delay", false),
        ("at least 20", Expected::at_least(20.0), "", true),
        ("the whole interval below 0%", Expected::below(0.0), "%", true),
        ("above 0 copies", Expected::above(0.0), "copies", false),
    ] {
        assert_eq!(rule(expected, unit, interval), text);
    }
}

#[test]
fn parts_of_a_claim_must_hold_under_one_reading() {
    let near = Expected::near(-18.0, 4.0);
    let equal = Part::judge(Expected::near(0.0, 5.0), vec![measured("a", -20.0, 1.0), measured("b", 1.0, 1.0)]);
    let faster = |b| Part::judge(near, vec![measured("a", -18.0, 1.0), measured("b", b, 1.0)]);
    let claim = |b| Claim::judge("joint", "18% faster at equal resource", "I", faster(b), vec![equal.clone()], "");
    let apart = claim(-30.0);
    assert_eq!(
        (apart.holds_under("a"), apart.holds_under("b"), apart.holds_under("c")),
        (Some(false), Some(false), None)
    );
    assert!(matches!(apart.verdict, Verdict::NotReproduced { .. }));
    assert_eq!(claim(-17.0).verdict, Verdict::ReproducedUnder { readings: vec!["b".to_owned()] });
    assert_eq!(apart.representative().unwrap().reading, "a");
}

#[test]
fn a_claim_that_was_not_run_has_a_reason() {
    let claim = Claim::not_run("trace", "The makespan is 18% lower", "6.3", "the trace is not public");
    assert_eq!((claim.status, claim.verdict.short(0)), (Status::NotRun, "not run".to_owned()));
    assert!(claim.readings.is_empty() && claim.verdict.to_string().ends_with("the trace is not public"));
}

#[test]
fn changes_have_signs_and_few_digits() {
    let shown = [-60.4, -9.96, 3.04, 0.04, -0.04, 12.6].map(change_text);
    assert_eq!(shown, ["−60%", "−10%", "+3.0%", "0%", "0%", "+13%"]);
}
