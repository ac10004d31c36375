//! Laws first, against a plain reading of the same rules, then what clients ask.

mod examples;
mod laws;
mod model;
mod reference;
