//! Values and merging: laws, edits, and worked examples.

mod driver;
mod editing;
mod laws;
mod lines;
mod merging;
mod model;
mod resolving;
mod shortening;
mod values;
