//! Laws, checked against a naive implementation of the same rules, and requests of clients.

mod examples;
mod laws;
mod negation;
mod reference;
mod strategies;
