//! The newest turn of a long log, before the log is indexed.
