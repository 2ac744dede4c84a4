//! The order `carbyne`.
