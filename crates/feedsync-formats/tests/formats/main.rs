//! Documents: the vectors of the specifications, faults, round trips, and feeds as they are found.

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
