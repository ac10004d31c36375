//! HTML pages, rendered on the server: collections, items, their histories and conflicts (FeedSync
//! 3.4 requires a means to resolve them), remotes, and articles.
//!
//! The page of an address has the same address below `/pages`. Every page works without its script,
//! which only follows changes. Forms post to their own page and are answered with 303. Input is never
//! lost: if it cannot be saved, the page shows it again. Untrusted content is shown as text, or as
//! HTML that is cleaned for each page; the policy of each page lets nothing else run, load or send. A
//! form is accepted only from the browser that it was sent to.

pub(crate) mod account;
pub(crate) mod answer;
pub(crate) mod assets;
mod base_version;
pub(crate) mod change;
pub(crate) mod collection;
pub(crate) mod databases;
pub(crate) mod failure;
mod form;
pub(crate) mod form_token;
mod graph;
pub(crate) mod home;
pub(crate) mod item;
pub(crate) mod limits;
pub(crate) mod login;
pub(crate) mod reading;
pub(crate) mod remotes;
mod return_target;
pub(crate) mod roles;
mod upload;
pub(crate) mod users;
mod versions;
