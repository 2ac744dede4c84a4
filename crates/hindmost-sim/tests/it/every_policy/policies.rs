//! Random policies and progress models.

use hindmost_policies::catalogue::{ORDERS, SYSTEMS};
use proptest::prelude::*;
use proptest::sample::select;

use crate::audit::Limits;

/// Systems with other parameters than their defaults.
const VARIANTS: [&str; 30] = [
    "hadoop(minimum_allowed=1)",
    "spark(quantile=0.3,multiplier=1.2,min_runtime=0)",
    "late(cap=1)",
    "late(cap=0.3,slow_task=0.5,slow_node=0.1,min_age=1)",
    "mantri(delta=0.01)",
    "mantri(delta=0.1,kill_restart=true)",
    "mantri(delta=0.1,kill_restart=true,backups=false)",
    "mantri(rule=osdi2010)",
    "mantri(rule=osdi2010,delta=0.1,copies=3,spare=0)",
    "pace(lag=1.2,margin=1,slow=0.9)",
    "sca(max_copies=3)",
    "sda(sigma=0.5,max_copies=3)",
    "ese(sigma=0.5)",
    "ese(xi=100,eta=2,max_copies=4)",
    "window(window=1,slow=1)",
    "window(window=1,slow=1,bandwidth=50)",
    "window(look_ahead=false,choice=first,slow=0.9)",
    "hete_aware(slow=1,window=0.01,closeness=ratio,bandwidth=100)",
    "riski(gain=race)",
    "riski(gain=race,price=0.5,kill=false,check=1)",
    "riski(backups=10,check=0.01)",
    "dolly(p=0.3,budget=0.5,utilization=1)",
    "dollymp(clones=3,per_node=2)",
    "dollymp(clones=1,budget=0.2,clone_pass=by_node)",
    "shed(reoptimise=arrival_and_end)",
    "shed(kill=deadline,start=restart)",
    "shed(hopeless=clone,masters=0)",
    "shed(stop_surplus=false)",
    "shed(start=restart)",
    "chronos(strategy=clone,r=2)",
];

/// A policy, and what it promises about its clones.
#[derive(Clone, Debug)]
pub struct PolicyPlan {
    /// The name, as on the command line.
    pub name: String,
    /// The limits of its clones.
    pub limits: Option<Limits>,
    /// The share of the cluster that clones of whole small jobs may hold.
    pub budget: Option<f64>,
}

impl PolicyPlan {
    fn named(name: String) -> PolicyPlan {
        PolicyPlan { name, limits: None, budget: None }
    }
}

/// Draws a policy: a system of the catalogue or one of [`VARIANTS`], under its own order or an order of the catalogue.
fn any_system() -> impl Strategy<Value = PolicyPlan> {
    let systems: Vec<&str> = SYSTEMS.iter().map(|system| system.name).chain(VARIANTS).collect();
    let orders: Vec<&str> = ORDERS.iter().map(|order| order.name).collect();
    let named = |(order, system): (Option<&str>, &str)| {
        PolicyPlan::named(order.map_or(system.to_owned(), |order| format!("{order}+{system}")))
    };
    (proptest::option::of(select(orders)), select(systems)).prop_map(named)
}

prop_compose! {
    /// Draws DollyMP's clones under several limits.
    fn any_clones()(
        order in proptest::option::of(select(vec!["drf", "tetris", "srpt", "carbyne", "graphene"])),
        clones in 0..4usize,
        per_node in 1..3usize,
        budget in proptest::option::of(select(vec![0.0, 0.1, 0.3, 0.5, 1.0])),
        pass in select(vec!["after", "by_node"]),
    ) -> PolicyPlan {
        let shown = budget.map_or("none".to_owned(), |budget| budget.to_string());
        let system = format!("dollymp(clones={clones},per_node={per_node},clone_pass={pass},budget={shown})");
        let name = order.map_or(system.clone(), |order| format!("{order}+{system}"));
        PolicyPlan { name, limits: Some(Limits { clones, per_node, budget }), budget: None }
    }
}

prop_compose! {
    /// Draws Dolly's clones of whole jobs.
    fn any_cloned_jobs()(
        budget in select(vec![0.0, 0.05, 0.1, 0.3, 1.0]),
        utilization in select(vec![0.5, 0.8, 1.0]),
        p in select(vec![0.05, 0.3]),
        admission in select(vec!["copies", "clones"]),
    ) -> PolicyPlan {
        let name = format!("fair+dolly(budget={budget},utilization={utilization},p={p},admission={admission})");
        PolicyPlan { name, limits: None, budget: Some(budget) }
    }
}

/// Draws policies that reserve resources, which the audit checks.
fn any_reservations() -> impl Strategy<Value = PolicyPlan> {
    let orders = vec!["fifo", "fair", "capacity", "hopper", "tetris", "srpt", "dollymp"];
    (select(orders), select(vec![0.2, 1.0]), select(vec![0.5, 1.0]), select(vec!["unknown", "50"])).prop_map(
        |(order, window, slow, bandwidth)| {
            PolicyPlan::named(format!("{order}+window(window={window},slow={slow},bandwidth={bandwidth})"))
        },
    )
}

/// Draws Mantri with `kill_restart`, which replaces attempts.
fn any_replacements() -> impl Strategy<Value = PolicyPlan> {
    (select(vec!["fifo", "fair", "srpt"]), select(vec![0.01, 0.25, 0.5]))
        .prop_map(|(order, delta)| PolicyPlan::named(format!("{order}+mantri(delta={delta},kill_restart=true)")))
}

/// Draws a policy; about every other draw is a policy whose limits, reservations or replacements are worth many cases.
pub fn any_policy() -> impl Strategy<Value = PolicyPlan> {
    prop_oneof![
        8 => any_system(),
        3 => any_clones(),
        3 => any_reservations(),
        2 => any_cloned_jobs(),
        1 => any_replacements(),
    ]
}

pub fn any_knowledge() -> impl Strategy<Value = String> {
    let fixed =
        vec!["oracle", "progress(0.1)", "progress(0.5)", "progress(uniform)", "age", "profiles", "profiles(0.5)"];
    select(fixed).prop_map(str::to_owned)
}
