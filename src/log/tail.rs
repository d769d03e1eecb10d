//! Follows a growing log.
