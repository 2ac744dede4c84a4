//! Tests of the catalogue's names, defaults and errors.

use super::*;

const SETTING: Setting<'static> = Setting { order: "fair", gamma: 1.0, queues: &[], live: false };

#[test]
fn every_default_is_valid() {
    let systems = SYSTEMS.iter().map(|system| (system.name, system.parameters()));
    let orders = ORDERS.iter().map(|order| (order.name, order.parameters()));
    for (name, entries) in systems.chain(orders) {
        for parameter in entries {
            assert_eq!(parameter.check(&parameter.default), Ok(()), "{name}");
            // Parse the default from the name of a policy, as users write it.
            let written: PolicySpec = format!("{name}({}={})", parameter.name, parameter.default).parse().unwrap();
            assert_eq!(written.parameters[parameter.name], parameter.default, "{name}");
            assert!(build(&written, &SETTING).is_ok(), "{written}");
        }
    }
}

/// A system and its own order read the same list of given parameters, so a name must belong to one of them only.
#[test]
fn a_system_and_its_own_order_share_no_parameter() {
    for system in SYSTEMS {
        let order = system.order.map_or(&[][..], |order| order_entry(order).unwrap().parameters());
        let shared = |entry: &&ParameterEntry| system.parameters().iter().any(|other| other.name == entry.name);
        assert!(order.iter().find(shared).is_none(), "{}", system.name);
    }
}

#[test]
fn every_system_builds_under_every_order() {
    for order in ORDERS {
        for system in SYSTEMS {
            let spec = format!("{}+{}", order.name, system.name).parse().unwrap();
            assert!(build(&spec, &SETTING).is_ok());
        }
    }
}

#[test]
fn the_scenarios_order_is_named_if_a_policy_uses_it() {
    let in_words = |names: &[&str]| {
        let specs: Vec<PolicySpec> = names.iter().map(|name| name.parse().unwrap()).collect();
        order_in_words("fair", &specs)
    };
    assert_eq!(in_words(&["none", "mantri"]).as_deref(), Some("order fair"));
    assert_eq!(in_words(&["dollymp", "drf", "drf+none"]), None);
    assert_eq!(
        in_words(&["dollymp", "dolly"]).as_deref(),
        Some("order fair for policies without an order of their own")
    );
}

#[test]
fn errors_suggest_similar_names_and_valid_values() {
    let message = |text: &str| build(&text.parse().unwrap(), &SETTING).err().unwrap().to_string();
    assert!(message("mantry").contains("did you mean \"mantri\"?"));
    assert!(message("fairr+mantri").contains("did you mean \"fair\"?"));
    assert!(message("sca(max-copies=3)").contains("did you mean \"max_copies\"?"));
    assert!(message("sca(max_copies=0)").contains("must be a whole number from 1 to 64"));
    let together = message("chronos(tau_est=0.8,tau_kill=0.3)");
    assert_eq!(together, "chronos: tau_kill is 0.3, but must be at least tau_est, 0.8");
    assert!(message("fifo+chronos(tau_est=1)").contains("tau_kill is 0.8, but must be at least tau_est, 1"));
    assert!(check(&"chronos(strategy=clone,tau_kill=0.1)".parse().unwrap()).is_ok());
    assert!(message("mantri(delta=1)").contains("must be a number from 0 to below 1"));
    assert!(message("mantri(delta=NaN)").contains("must be"));
    assert!(message("none(delta=1)").contains("it takes no parameters"));
    assert!(message("tetris+dollymp(epsilon=2)").contains("in the name: \"tetris(epsilon=2)+dollymp\""));
    assert!(message("fair+fifo").contains("write fifo+SYSTEM"));
    assert!(message("DRF+none").contains("did you mean \"drf\"?"));
    assert!(message("sca+mantri").contains("; it is a system, not an order"));
    assert!(message("mantri(delta=0.5)+tetris(epsilon=1)").contains(
        "no order is called \"mantri\"; mantri is a system and tetris an order: did you mean \
         \"tetris(epsilon=1)+mantri(delta=0.5)\"?"
    ));
    assert!(message("Mantri+Tetris").contains("did you mean \"tetris+mantri\"?"));
    assert!(message("ese(sigma=-1e300)").contains("sigma is -1e300, but"));
    assert!(message("SCA").contains("did you mean \"sca\"?"));
    let long = "x".repeat(80_000);
    for name in [
        long.clone(),
        format!("sca({long}=1)"),
        format!("sca(max_copies={long})"),
        format!("{long}+sca"),
        format!("mantri(delta={long})+tetris"),
        format!("tetris+dollymp(epsilon={long})"),
    ] {
        assert!(message(&name).len() < 500, "{}", message(&name));
    }
    assert!(long.replace('x', "(").parse::<PolicySpec>().unwrap_err().to_string().len() < 500);
}

#[test]
fn names_of_the_same_policy_are_recognised() {
    let same = |one: &str, other: &str| mean_the_same(&one.parse().unwrap(), &other.parse().unwrap());
    for (one, other) in [
        ("sca", "sca"),
        ("sca", "sca(max_copies=8)"),
        ("svf", "svf+none"),
        ("dollymp", "dollymp+dollymp"),
        ("fair+sca(max_copies=4)", "fair + sca (max_copies=4)"),
    ] {
        assert!(same(one, other) && same(other, one), "{one} and {other}");
    }
    for (one, other) in [("sca", "sca(max_copies=4)"), ("sca", "fair+sca"), ("svf", "none"), ("nonsense", "nonsense")] {
        assert!(!same(one, other) && !same(other, one), "{one} and {other}");
    }
}

#[test]
fn every_entry_says_where_it_comes_from_and_differs() {
    let systems = SYSTEMS.iter().map(|system| (system.name, system.source));
    for (name, source) in systems.chain(ORDERS.iter().map(|order| (order.name, order.source))) {
        for said in [source.work, source.section, source.basis] {
            assert!(said.len() > 5, "{name}: {said:?}");
        }
        assert!(!source.deviations.is_empty(), "{name}");
        for deviation in source.deviations {
            assert!(deviation.ends_with('.') && deviation.len() > 20, "{name}: {deviation:?}");
            // An entry without differences has no other item than the statement that none is known.
            assert!(!deviation.starts_with("None") || source.deviations.len() == 1, "{name}");
        }
    }
}

#[test]
fn the_json_entry_keeps_the_source_and_adds_differences() {
    let entry = serde_json::to_value(SYSTEMS.iter().find(|system| system.name == "late").unwrap()).unwrap();
    assert!(entry["source"].as_str().unwrap().contains("OSDI 2008"));
    assert!(entry["section"].is_string() && entry["basis"].is_string());
    assert!(entry["deviations"][0].as_str().unwrap().contains("min_age"));
}
