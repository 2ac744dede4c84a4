//! Tests of engine `slurm` on small clusters of four nodes on this machine, which `scripts/slurm-lab.sh` brings up. They
//! are run on request, because they need Slurm: `cargo test -p hindmost --test it slurm:: -- --ignored`.

mod allocations;
mod chaos;
mod crashes;
mod ends;
mod faults;
mod lab;
mod silent;
mod use_cases;
mod users;

pub use lab::on_cluster;
