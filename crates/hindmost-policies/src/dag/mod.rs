//! Orders that plan the phases of a job ahead of time, and what they share.

mod asked_jobs;
pub mod carbyne;
mod deficits;
mod fair_shares;
pub mod graphene;
mod offline_schedule;
mod packing;
mod resource_profile;
mod task_order;
mod waiting_jobs;
