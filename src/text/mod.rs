//! The text room.
