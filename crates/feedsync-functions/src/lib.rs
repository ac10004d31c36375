//! Functions of CouchDB's design documents: map, reduce, filters and `validate_doc_update`.
//!
//! A [`Call`] names a function and its arguments, all as JSON. A [`Sandbox`](engine::Sandbox) (feature `engine`) executes
//! the functions of one design document with [`Limits`](engine::Limits). Functions have no access to files, the network or
//! other design documents. A server runs sandboxes in processes of their own, which a [`Host`](host::Host) (feature `host`)
//! starts, stops and replaces. Requests and responses are [messages](message) on their standard input and output.
//!
//! The functions `emit`, `isArray`, `log`, `require`, `sum` and `toJSON` exist as in CouchDB. `log` does nothing. Functions
//! for lists, shows and updates are left out.
//!
//! ```
//! use feedsync_functions::Call;
//! # #[cfg(feature = "engine")] {
//! use feedsync_functions::engine::{Limits, Sandbox};
//!
//! let design = r#"{"views": {"by-name": {"map": "function (doc) { emit(doc.name, 1); }"}}}"#;
//! let mut sandbox = Sandbox::new(design, Limits::default()).unwrap();
//! let rows = sandbox.call(&Call::Map { documents: &[r#"{"name": "x"}"#] }).unwrap();
//! assert_eq!(rows, r#"[[[["x",1]]]]"#);
//! # }
//! ```

mod call;
mod error;
pub mod message;

#[cfg(feature = "engine")]
pub mod engine;

#[cfg(feature = "host")]
pub mod host;

pub use call::{Call, ReduceList};
pub use error::CallError;
