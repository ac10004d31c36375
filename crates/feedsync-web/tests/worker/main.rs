//! The worker by its commands, without a browser.

mod commands;
mod script;
