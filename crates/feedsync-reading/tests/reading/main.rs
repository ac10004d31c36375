//! Feeds are fetched, and people read them.

mod people;
mod polling;
mod scene;
mod selecting;
