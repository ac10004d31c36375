//! Limits of functions.

use std::time::Duration;

/// Limits of the functions of one design document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of their memory, in bytes, with the documents that they get.
    pub memory: usize,
    /// Maximum size of their stack, in bytes.
    pub stack: usize,
    /// Maximum duration of one call.
    pub time: Duration,
    /// Maximum size of the result of one call, in UTF-16 code units.
    pub output: usize,
}

impl Default for Limits {
    /// 128 MiB of memory, 256 KiB of stack, 5 seconds, and 32 MiB of output.
    fn default() -> Self {
        Self { memory: 128 << 20, stack: 256 << 10, time: Duration::from_secs(5), output: 32 << 20 }
    }
}

impl Limits {
    /// Parses the arguments of a process: bytes of memory and milliseconds. The defaults apply to missing ones.
    pub(super) fn of_arguments(arguments: &[String]) -> Option<Self> {
        let mut limits = Self::default();
        if let Some(memory) = arguments.first() {
            limits.memory = memory.parse().ok()?;
        }
        if let Some(time) = arguments.get(1) {
            limits.time = Duration::from_millis(time.parse().ok()?);
        }
        Some(limits)
    }

    /// The arguments that [`run_confined`](super::run_confined) parses.
    pub fn to_arguments(&self) -> [String; 2] {
        [self.memory.to_string(), self.time.as_millis().to_string()]
    }
}
