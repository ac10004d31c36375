//! Shared test helpers: everything that the tests of more than one crate need, and nothing else.

pub mod citations;
pub mod conformance;
pub mod corpora;
pub mod fuzz;
pub mod imports;
pub mod json_feed;
#[cfg(unix)]
pub mod postgres;
pub mod schedule;
pub mod site;
#[cfg(target_os = "linux")]
pub mod small_disk;
