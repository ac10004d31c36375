//! Endpoints on stores: the guarantees that they give to callers.

mod bounds;
mod deletion;
mod details;
mod feed_documents;
mod killed;
mod origins;
mod outcomes;
mod parts;
mod people;
mod policies;
mod publishing;
mod recording;
mod support;
