//! Limits of a piece of removed contents.

/// Maximum number of rows of a table of a dropped database that are removed at once.
pub(super) const SWEEP_ROWS: i64 = 2_000;

/// Maximum number of bytes that are removed at once; the row that reaches it is the last one of the piece. No
/// other transaction writes meanwhile.
pub(super) const SWEEP_BYTES: i64 = 64 << 20;
