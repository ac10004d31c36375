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
mod address;
mod answers;
mod audience;
mod blobs;
mod body;
mod browser_policy;
mod bucket;
mod caching;
mod call;
mod catalogue;
mod changes;
mod clients;
mod collection;
mod complete;
mod compression;
mod config;
pub mod configuration;
mod conflicts;
mod connections;
mod couch;
mod create;
mod document;
mod doors;
mod events;
mod face;
mod follower;
mod generations;
mod health;
mod host_origin;
mod html;
mod hub;
mod index;
mod kept;
mod limits;
mod listing;
mod live;
mod local_hubs;
mod log;
pub mod look;
mod media;
mod members;
mod metrics;
mod negotiation;
mod newsreaders;
mod offer;
mod other_origin;
mod outlines;
mod pages;
mod partial_content;
mod peer;
mod preconditions;
mod prefer;
mod problem;
mod query;
mod range;
mod request_line;
mod request_log;
mod revision;
mod room;
mod router;
mod routes;
mod serve;
mod service;
mod slug;
mod span;
mod sse;
mod stall;
mod submissions;
mod sweep;
mod tls;
mod unnamed;
mod upload;
mod validators;
mod whole;
mod writing;

pub use access::session::Cookie;
pub use address::{
    Origin, OriginError, ProxyAddress, ProxyAddressError, PublicBase, PublicBaseError,
};
pub use browser_policy::{SANDBOX, apply as apply_browser_policy};
pub use config::{Config, Limits, Log, Tls};
pub use host_origin::{is_loopback, named_host};
pub use hub::Served;
pub use local_hubs::{Announced, LOCAL_PROOF, LocalHubs, LocalProof};
pub use partial_content::refuse as refuse_partial_content;
pub use peer::is_forwarded;
pub use problem::Problem;
pub use range::{Asked, Validators, asked};
pub use router::router;
pub use routes::{Right, rights};
pub use serve::{ServeError, Serving, serve};
pub use stall::Impatient;
pub use tls::CertificateError;
pub use validators::{Listed, listed};
