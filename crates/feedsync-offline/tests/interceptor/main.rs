//! The whole of the decisions, without sockets: by example, and in a seeded world.

mod ahead;
mod attempts;
mod control;
mod damaged;
mod desk;
mod doubts;
mod edits;
mod examples;
mod fetched;
mod following;
mod gateway;
mod held;
mod looks;
mod newsreaders;
mod origin;
mod outdated;
mod people;
mod pictures;
mod replies;
mod representations;
mod rounds;
mod schedule;
mod standing;
mod truth;
mod unnamed;
mod world;
