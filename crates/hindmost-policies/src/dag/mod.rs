//! Orders that plan the phases of a job ahead of time, and the parts that they share.

mod by_arrival;
pub mod carbyne;
mod checked_jobs;
mod deficits;
mod dominant_shares;
mod fair_shares;
pub mod graphene;
mod in_waves;
mod latest_starts;
mod offline_schedule;
mod packing;
mod resource_profile;
mod task_order;
mod waiting_jobs;
