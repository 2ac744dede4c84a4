//! hindmost-report
