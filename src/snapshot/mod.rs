//! The snapshot room.
