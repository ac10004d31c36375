//! The worker by its commands, without a browser.

mod commands;
mod damage;
mod queue;
mod script;
mod versions;
