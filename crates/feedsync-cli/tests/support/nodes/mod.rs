//! A hub of several real processes behind a balancer, and clients that edit, merge and follow while the
//! processes are killed.

pub(crate) mod balancer;
pub(crate) mod editor;
pub(crate) mod endpoint;
pub(crate) mod entry;
pub(crate) mod fleet;
pub(crate) mod follower;
pub(crate) mod http;
pub(crate) mod said;
pub(crate) mod verdict;
pub(crate) mod world;

/// Maximum time for any condition to become true after the last kill.
pub(crate) const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);
