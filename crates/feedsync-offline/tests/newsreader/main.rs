//! Newsreaders without a network, against a small server in memory that speaks all four interfaces.

mod crashes;
mod desk;
mod malformed;
mod merging;
mod people;
mod said;
mod server;
