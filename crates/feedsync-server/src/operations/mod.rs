//! Operation of a hub: health, limits, metrics, and the work that it does in the background.

pub(crate) mod bridges;
pub(crate) mod health;
pub(crate) mod limits;
pub(crate) mod losses;
pub(crate) mod metrics;
pub(crate) mod sweep;
