//! The gateway from outside, without anything of its own between: raw origins, raw applications.

mod attacks;
mod bodies;
mod cached;
mod editing;
mod emulated;
mod fidelity;
mod framing;
mod kept;
mod pages;
mod proxy;
mod random;
mod reverse;
mod rotten;
mod signed;
mod support;
mod upstream;
