//! Tests of the gateway over raw sockets on both sides.

mod attacks;
mod bodies;
mod cached;
mod editing;
mod emulated;
mod fidelity;
mod framing;
mod intercepted;
mod kept;
mod linked;
mod mapped;
mod pages;
mod proxy;
mod random;
mod reverse;
mod rotten;
mod secure;
mod signed;
mod support;
mod upstream;
