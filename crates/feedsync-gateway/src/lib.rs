//! The gateway: applications send HTTP to it, and it sends HTTP to the origins (BITSY 1.4, 3).
//!
//! [`proxy`] is the proxy listener that applications use. [`target`] determines the origin that a request means
//! and whether it may be reached, and [`upstream`] is the only path by which requests leave. Requests for
//! resources that are not subscribed to pass through unchanged. [`tls_interception`] lets applications that speak
//! https use the same path. [`store`] persists the decided state and its
//! bytes, and [`driver`] executes decisions. [`control`] is the port that controls the gateway; [`start`] starts
//! all of it.

mod challenge;
pub mod config;
mod connection;
pub mod control;
pub mod driver;
mod links;
mod mapped;
mod page_origin;
mod private_file;
mod programs;
pub mod proxy;
mod rewrite;
mod run;
pub mod store;
pub mod target;
pub mod tls_interception;
pub mod upstream;

pub use config::{Config, Limits, StoreConfig};
pub use proxy::{Proxy, ServeError, Serving, serve};
pub use run::{Running, StartError, start, start_with};
