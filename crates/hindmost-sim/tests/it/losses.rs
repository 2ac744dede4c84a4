//! Nodes that are lost and come back, under every order and system of the catalogue.

use hindmost_core::policy::catalogue::{ORDERS, SYSTEMS};
use proptest::prelude::*;

use crate::live_like::{LiveLike, any_live_like, any_policy_of_the_catalogue, policy};

fn runs_soundly(world: &LiveLike, name: &str) {
    let ran = world.run(policy(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(ran.refused.is_empty(), "{name}: {:?}", ran.refused);
    ran.is_sound();
    let verified = ran.verify(&mut policy(name));
    assert!(verified.is_ok(), "{name}: {}", verified.unwrap_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn losses_lead_to_nothing_impossible(world in any_live_like(false), name in any_policy_of_the_catalogue()) {
        runs_soundly(&world, &name);
    }

    #[test]
    fn finished_tasks_are_never_started(world in any_live_like(true), name in any_policy_of_the_catalogue()) {
        runs_soundly(&world, &name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 20, ..ProptestConfig::default() })]

    /// Every order with every system, once each: what random choice might miss.
    #[test]
    fn every_order_and_system_survives_losses(world in any_live_like(false), finished in any_live_like(true)) {
        for order in ORDERS {
            for system in SYSTEMS {
                let name = format!("{}+{}", order.name, system.name);
                runs_soundly(&world, &name);
                runs_soundly(&finished, &name);
            }
        }
        for system in SYSTEMS {
            runs_soundly(&world, system.name);
            runs_soundly(&finished, system.name);
        }
    }
}
