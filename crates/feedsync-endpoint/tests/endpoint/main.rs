//! Endpoints on stores: what they promise to who calls them.

mod bounds;
mod deletion;
mod details;
mod feed_documents;
mod killed;
mod origins;
mod parts;
mod people;
mod policies;
mod publishing;
mod recording;
mod support;
