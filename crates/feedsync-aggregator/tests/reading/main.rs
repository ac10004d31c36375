//! Tests of fetching feeds and of reading.

mod clock;
mod finding;
mod full_texts;
mod hostile;
mod people;
mod pictures;
mod polling;
mod rules;
mod scene;
mod selecting;
mod upkeep;
