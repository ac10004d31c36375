//! A gateway in a real process, origins that become unavailable, and applications that know neither.

#![allow(dead_code)] // each test binary uses a part of this

pub(crate) mod atompub;
pub(crate) mod client;
pub(crate) mod gateway;
pub(crate) mod hub;
pub(crate) mod listing;
pub(crate) mod python;
pub(crate) mod recipe;
pub(crate) mod site;
pub(crate) mod writer;

pub(crate) use crate::support::{application, until};
