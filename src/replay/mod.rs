//! The replay room.
