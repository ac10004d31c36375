//! What somebody reads: records, what they amount to, and the documents they become.

mod actions;
mod arranging;
mod collection;
mod documents;
mod identity;
mod laws;
mod maintaining;
mod opml;
mod support;
mod views;
