//! The store of a gateway, through what it offers.

mod kept;
mod killed;
mod model;
mod opened;
mod room;
mod rotten;
mod samples;
mod steps;
mod swept;
