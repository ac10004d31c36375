//! The control port: one file for each area.

mod errors;
mod events;
mod guards;
mod network;
mod pages;
mod served;
mod subscriptions;
mod visibility;
mod world;
