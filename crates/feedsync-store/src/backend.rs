//! Parts for those who implement a store. All implementations of this crate are made of them.
//!
//! [`plan`] computes the result of an update, so that a store of items decides nothing by itself: it reads a
//! [`Snapshot`](crate::Snapshot), passes it to the decision, and writes the [`Plan`]. [`Page`] ends pages at
//! their limits, and [`ChangeNotifier`] notifies subscribers.

pub use crate::blob::stale_before;
pub use crate::notifier::ChangeNotifier;
pub use crate::plan::{Plan, plan};
pub use crate::stored::Page;
