//! Reading and writing remote feeds over HTTP: pull, push, sync, follow.
//!
//! [`fetch`] is the one way out of the program, with the bounds of everything that is asked of another
//! machine.

pub mod fetch;
