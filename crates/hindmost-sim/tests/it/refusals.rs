//! Large scenarios that are accepted: `mistakes/` has what is refused.

use crate::scenarios::{VALID, parse};

#[test]
fn many_tasks_are_accepted_up_to_the_limit() {
    for (arrival, tasks) in [
        ("{ poisson = { rate = 4.9e5 } }", "10"),
        ("{ poisson = { rate = 4.9e4 } }", "{ uniform = { min = 1, max = 199 } }"),
        ("{ every = { gap = 1, jobs = 4000000000 } }", "3"),
    ] {
        parse(VALID, &[("workload.arrival", arrival), ("workload.tasks", tasks)]).unwrap();
    }
    parse(VALID, &[("workload.arrival", "{ poisson = { rate = 1e300 } }"), ("horizon", "1e-295")]).unwrap();
}
