//! A gateway of a real process, origins that come and go, and applications that know nothing of either.

#![allow(dead_code)] // each test binary uses a part of this

pub(crate) mod gateway;
pub(crate) mod hub;
pub(crate) mod listing;
pub(crate) mod writer;

pub(crate) use crate::support::{application, until};
