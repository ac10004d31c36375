//! Feeds are fetched, and people read them.

mod clock;
mod finding;
mod hostile;
mod people;
mod polling;
mod scene;
mod selecting;
mod upkeep;
