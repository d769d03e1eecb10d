//! Hints that something in a folder changed.
