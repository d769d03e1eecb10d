//! The reader room.
