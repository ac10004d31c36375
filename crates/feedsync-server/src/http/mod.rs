//! HTTP mechanics that all resources share: problems, bodies, negotiation, validators, limits of clients.
//!
//! Nothing here knows a resource. Files of this folder import the configuration, the hub and admitted
//! requests, and no other folder.

pub(crate) mod address;
pub(crate) mod body;
pub(crate) mod bounded_file;
pub(crate) mod bucket;
pub(crate) mod caching;
pub(crate) mod catalogue;
pub(crate) mod clients;
pub(crate) mod compression;
pub(crate) mod connections;
pub(crate) mod couch_errors;
pub(crate) mod counters;
pub(crate) mod current_request;
pub(crate) mod event_stream;
pub(crate) mod generations;
pub(crate) mod host_origin;
pub(crate) mod html;
pub(crate) mod media_types;
pub(crate) mod multipart;
pub(crate) mod negotiation;
pub(crate) mod other_origin;
pub(crate) mod paths;
pub(crate) mod peer;
pub(crate) mod permits;
pub(crate) mod prefer;
pub(crate) mod problem;
pub(crate) mod query;
pub(crate) mod request_line;
pub(crate) mod request_log;
pub(crate) mod response;
pub(crate) mod response_budget;
pub(crate) mod response_cache;
pub(crate) mod stopping;
pub(crate) mod submissions;
pub(crate) mod temp_file;
pub(crate) mod text_response;
pub(crate) mod tls;
pub(crate) mod upload;
pub(crate) mod validators;
