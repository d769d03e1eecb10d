//! Display paths and their order.
