//! Pages for people, made here and sent whole: collections, items, their histories and conflicts
//! (FeedSync 3.4 asks for the means to resolve them), remotes, and articles to read.
//!
//! The page of an address is at the same address below `/pages`. Every page works without its script,
//! which only follows changes. Forms post to the page that they stand on and are answered with 303;
//! what was typed is never lost: where it cannot be saved, the page comes back with it. Whatever came
//! from outside is text, or HTML made safe anew for each page; the policy sent with each page lets
//! nothing else run, load or send. A form is carried out for the browser that it was sent to alone.

pub(crate) mod account;
pub(crate) mod answer;
pub(crate) mod assets;
pub(crate) mod change;
pub(crate) mod collection;
pub(crate) mod content;
pub(crate) mod differences;
pub(crate) mod failure;
mod form;
mod graph;
pub(crate) mod home;
pub(crate) mod item;
pub(crate) mod limits;
pub(crate) mod login;
mod place;
pub(crate) mod proof;
pub(crate) mod reading;
pub(crate) mod remotes;
pub(crate) mod roles;
mod seen;
mod upload;
pub(crate) mod users;
mod versions;

pub(crate) use form::collection_page;

/// Whether a path is that of a page, or would be if there were one.
pub(crate) fn are_at(path: &str) -> bool {
    path == "/" || path == "/pages" || path.starts_with("/pages/")
}
