//! Tests of documents: the examples of the specifications, faults, round trips, and feeds of the
//! web.

mod behaviours;
mod collections;
mod corpora;
mod documents;
mod faults;
mod inherited;
mod moves;
mod outlines;
mod payloads;
mod round_trip;
mod support;
mod undefined;
mod vectors;
mod wild;
mod wild_cases;
