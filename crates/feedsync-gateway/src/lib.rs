//! The gateway: applications speak HTTP to it, and it speaks HTTP to the origins (BITSY 1.4, 3).
//!
//! [`face`] is the port that applications speak to, [`target`] finds the origin that a request means and
//! whether it may be reached, and [`upstream`] is the one way by which requests leave. What is not subscribed
//! passes through as it came. [`store`] keeps what was decided, and the bytes that belong to it. [`agent`] holds
//! the decisions and acts on them, [`control`] is the port that all of this is controlled by; [`start`] begins it
//! all.

pub mod agent;
mod challenge;
pub mod config;
mod connection;
pub mod control;
pub mod face;
mod programs;
pub mod store;
pub mod target;
pub mod upstream;
mod whole;

pub use config::{Config, Keep, Limits};
pub use face::{Face, ServeError, Serving, serve};
pub use whole::{Running, StartError, start, start_with};
