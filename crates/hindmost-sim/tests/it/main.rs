//! Tests of the simulator and, through it, of every policy. Each module tells one story: what closed
//! forms say, what slots do, what each policy decides, what must hold of every run.

mod book;
mod capacity;
mod carbyne;
mod closed_forms;
mod dolly;
mod dollymp;
mod drf;
mod exact;
mod experiments;
mod graphene;
mod hopper;
mod kinds;
mod knowledge;
mod live_like;
mod locality;
mod losses;
mod orders;
mod pace;
mod properties;
mod queues;
mod reference;
mod refusals;
mod rules;
mod scenarios;
mod slots;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod unchanged;
mod waiting;
