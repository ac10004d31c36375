//! Tests of the store of a gateway through its public interface.

mod kept;
mod killed;
mod model;
mod opened;
mod room;
mod rotten;
mod samples;
mod steps;
mod swept;
