//! The gateway: applications send HTTP to it, and it sends HTTP to the origins (BITSY 1.4, 3).
//!
//! [`face`] is the proxy listener that applications use. [`target`] determines the origin that a request means
//! and whether it may be reached, and [`upstream`] is the only path by which requests leave. Requests for
//! resources that are not subscribed to pass through unchanged. [`store`] persists the decided state and its
//! bytes, and [`agent`] executes decisions. [`control`] is the port that controls the gateway; [`start`] starts
//! all of it.

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
