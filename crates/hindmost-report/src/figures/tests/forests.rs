//! Tests of forest plots.

use proptest::prelude::*;

use super::super::{Axis, ForestChart, ForestPanel, ForestRow, ForestValue, Unit};
use super::{axis, interval, name, sound, value};

prop_compose! {
    fn forest_value()(value in value(), half in prop::option::of(value()), text in name(), holds: bool) -> ForestValue {
        ForestValue { value, interval: interval(value, half), tip: text.clone(), text, holds }
    }
}

prop_compose! {
    fn forest_row()(
        name in name(),
        low in prop::option::of(value()),
        high in prop::option::of(value()),
        base in prop::option::of(forest_value()),
        best in prop::option::of(forest_value()),
        range in prop::option::of((value(), value())),
    ) -> ForestRow {
        let (claimed, range_tip) = (name.clone(), name.clone());
        ForestRow { name, low, high, claimed, base, best, range: range.map(<[f64; 2]>::from), range_tip }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: hindmost_testing::cases(200, 2000), ..ProptestConfig::default() })]

    #[test]
    fn forests_are_drawn_for_any_values_and_names(
        title in name(),
        best in prop::option::of(name()),
        panels in prop::collection::vec((axis(), prop::collection::vec(forest_row(), 0..5)), 0..4),
    ) {
        let panels = panels.into_iter().map(|(axis, rows)| ForestPanel { axis, rows }).collect();
        sound(&ForestChart { about: title.clone(), base: title.clone(), title, best, panels }.draw());
    }
}

fn row(range: [f64; 2]) -> ForestRow {
    let value = |value: f64, holds| ForestValue {
        value,
        interval: Some([value - 9.0, value + 9.0]),
        text: format!("{value}%"),
        holds,
        tip: format!("about {value}"),
    };
    ForestRow {
        name: "SCA is faster".to_owned(),
        low: None,
        high: Some(-55.0),
        claimed: "claimed".to_owned(),
        base: Some(value(-40.0, false)),
        best: Some(value(-60.0, true)),
        range: Some(range),
        range_tip: "range".to_owned(),
    }
}

fn one_row(range: [f64; 2]) -> String {
    let axis = Axis::new("measured value", Unit::Number("%".to_owned()));
    let panels = vec![ForestPanel { axis, rows: vec![row(range)] }];
    let best = Some("best".to_owned());
    let (title, about) = ("Claims".to_owned(), "About.".to_owned());
    sound(&ForestChart { title, about, base: "base".to_owned(), best, panels }.draw())
}

#[test]
fn far_ranges_end_in_an_arrow_and_keep_marks_apart() {
    let range = |text: &str| {
        let (_, after) = text.split_once("<title>range</title>").unwrap();
        after.split_once("d=\"").unwrap().1.split_once('"').unwrap().0.to_owned()
    };
    let (near, far) = (range(&one_row([-70.0, 10.0])), range(&one_row([-70.0, 9e9])));
    assert!(near.matches('V').count() == 2 && !near.contains('L'), "{near}");
    assert!(far.matches('V').count() == 1 && far.matches('L').count() == 2, "{far}");
    assert!(one_row([-70.0, 9e9]).contains(">40<"), "the axis ends near the marks");
}

#[test]
fn marks_that_confirm_a_claim_are_filled() {
    let text = one_row([-70.0, 10.0]);
    let class = |tip: &str| {
        let (_, after) = text.split_once(tip).unwrap();
        let (mark, _) = after.split_once("<text").unwrap();
        mark.rsplit_once("class=\"").unwrap().1.split_once('"').unwrap().0.to_owned()
    };
    assert_eq!([class("<title>about -40</title>"), class("<title>about -60</title>")], ["hm-hollow hm-s0", "hm-f1"]);
}
