//! The hub as its clients see it: the application called without a socket, and over real ones.

mod access;
mod answers;
mod attacks;
mod blobs;
mod changes;
mod collection;
mod complete;
mod conditional;
mod conflicts;
mod events;
mod gates;
mod hub;
mod listing;
mod media;
mod members;
mod offer;
mod operating;
mod outlines;
mod pages;
mod pages_hostile;
mod protocol;
mod quotas;
mod routes;
mod service;
mod sockets;
mod sqlite;
