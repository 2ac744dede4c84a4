//! Processes on this machine: their identity, their descendants, and how they are stopped.
