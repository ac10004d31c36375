//! Execution of functions by QuickJS.

mod limits;
mod sandbox;
mod serve;

#[cfg(test)]
mod tests;

pub use limits::Limits;
pub use sandbox::Sandbox;
pub use serve::serve;
