//! `_replicator`: documents whose replications the hub carries out.

mod nodes;
mod refused;
mod states;
