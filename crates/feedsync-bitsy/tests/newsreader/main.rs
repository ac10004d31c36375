//! Newsreaders without a network, with a small in-memory server that implements all four interfaces.

mod bounds;
mod counted;
mod crashes;
mod delivering;
mod desk;
mod malformed;
mod merging;
mod people;
mod requests;
mod said;
mod server;
mod shown;
mod stored;
mod taking;
