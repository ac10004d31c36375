//! Execution of functions by QuickJS.

mod confined;
mod limits;
mod sandbox;
mod serve;

#[cfg(test)]
mod tests;

pub use confined::run_confined;
pub use limits::Limits;
pub use sandbox::Sandbox;
pub use serve::serve;
