//! The worker by its commands, without a browser.

mod commands;
mod damage;
mod script;
mod versions;
