//! Tests of the live driver on an engine without processes: every task has one winner, no files of other attempts are
//! left, and a run can be resumed after its driver has died at any moment.

mod abandoned;
mod auto;
mod chains;
mod checked_engine;
mod copies;
mod crashes;
mod energy;
mod failures;
mod fake_engine;
mod folders;
mod journal_cuts;
mod learned;
mod live_view;
mod long_tasks;
mod needs;
mod node_classes;
mod nodes;
mod pauses;
mod permanent_failures;
mod place;
mod policies;
mod random_jobs;
mod refusals;
mod scale;
mod several_jobs;
mod slow_nodes;
mod starting;
mod test_run;
mod watches;
