//! Why a call has no result.

use thiserror::Error;

/// Why a call of a function has no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The design document has no such function.
    #[error("{0}")]
    Missing(String),
    /// The function cannot be compiled, or the design document is not valid.
    #[error("{0}")]
    Compilation(String),
    /// The function threw this exception.
    #[error("{0}")]
    Thrown(String),
    /// The function took too long.
    #[error("the function was stopped because it took too long")]
    TimeLimit,
    /// The function needed too much memory.
    #[error("the function was stopped because it needed too much memory")]
    MemoryLimit,
    /// The function returned too much.
    #[error("the function was stopped because it returned too much")]
    OutputLimit,
    /// All processes that execute functions are in use.
    #[error("too many functions are executed at the moment; try again later")]
    Busy,
    /// The process that executes functions ended, or its messages cannot be understood.
    #[error("the process that executes functions failed: {0}")]
    Process(String),
}

impl CallError {
    /// Whether the environment of the function is of no more use.
    #[cfg(any(feature = "engine", feature = "host"))]
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(self, Self::TimeLimit | Self::MemoryLimit)
    }
}
