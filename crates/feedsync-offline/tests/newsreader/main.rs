//! Newsreaders without a network, against a small server in memory that speaks all four interfaces.

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
