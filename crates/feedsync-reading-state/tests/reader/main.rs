//! Records, the states that they produce, and the documents of these states.

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
