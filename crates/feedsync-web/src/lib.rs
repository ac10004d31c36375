//! BITSY 0.3.1 in a browser: decisions for a Service Worker.

mod codec;
mod store;

pub use codec::Damaged;
pub use store::{
    CANDIDATES, Found, Needed, PendingStep, Range, ReadError, STATE, Store, Swept, Writes, candidate, uses,
};
