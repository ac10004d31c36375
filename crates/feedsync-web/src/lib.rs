//! BITSY 0.3.1 in a browser: decisions for a Service Worker.

#[cfg(target_arch = "wasm32")]
mod binding;
mod codec;
mod engine;
mod store;
mod worker;

pub use codec::Damaged;
pub use store::{
    CANDIDATES, Found, Needed, PendingStep, Range, ReadError, STATE, Store, Swept, USES, Writes,
    candidate, migrated, seal, unseal, uses,
};
pub use worker::Worker;
