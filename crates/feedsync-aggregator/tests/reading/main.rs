//! Tests of fetching feeds and of reading.

mod clock;
mod finding;
mod hostile;
mod people;
mod pictures;
mod polling;
mod rules;
mod scene;
mod selecting;
mod upkeep;
