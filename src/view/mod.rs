//! The view room.
