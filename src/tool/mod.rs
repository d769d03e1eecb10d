//! The tool room.
