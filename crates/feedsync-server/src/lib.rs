//! The hub: collections over HTTP.
//!
//! [`router()`] is the application, callable without a socket; [`serve()`] binds it to a loopback
//! address. One file per resource cites the clauses it implements; protocol decisions are made in
//! `feedsync-endpoint` and below, documents are written by `feedsync-formats`.
//!
//! Rules for every route: the Host must be known, a foreign Origin is refused, the client needs the right of
//! the route, and writes need the media type of a document. Errors are `application/problem+json` and name
//! the part at fault; bad input changes nothing. Documents are streamed in short reads, so that memory does
//! not grow with a collection, and the number of large responses in memory is limited.

mod access;
mod authority;
mod collections;
mod config;
pub mod configuration;
mod couch;
pub mod functions;
mod http;
mod hub;
mod logs;
mod mass_losses;
mod operations;
mod pages;
mod readers;
mod reading;
mod router;
mod routes;
mod serve;
mod web_package;

pub use access::Right;
pub use access::assertions::{AssertionKeys, AssertionKeysError};
pub use config::{Config, Limits, Log, Tls};
pub use http::address::{
    Origin, OriginError, ProxyAddress, ProxyAddressError, PublicBase, PublicBaseError,
};
pub use http::tls::{CertificateError, ChallengeError};
pub use hub::HubParts;
pub use router::router;
pub use routes::rights;
pub use serve::{ServeError, ServedCertificate, Serving, serve};
