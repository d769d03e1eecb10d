//! The part that touches the world: terminal, threads, the one inbox, the loop.

mod painter;

pub use painter::Painter;
