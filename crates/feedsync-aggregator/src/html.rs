//! HTML of other people: limits on the work of processing it.

mod bounded;
mod skeleton;
mod text;

pub use bounded::{Bounded, MAX_ATTRIBUTES, MAX_DEPTH, MAX_SEARCHED, MAX_STEPS, bounded};
pub(crate) use bounded::{Kind, bounded_as};
