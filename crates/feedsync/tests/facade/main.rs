//! The library as an application uses it, with hubs in the same process.

mod content;
mod edits;
mod feeds;
mod laws;
mod remotes;
mod replicas;
mod scene;
mod watching;
