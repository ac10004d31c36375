//! Removal of many rows in several transactions. No statement exceeds the session's timeout, and no other
//! transaction waits for long.

use futures_util::FutureExt as _;

use super::node::Node;
use super::rows::micros;
use crate::error::StoreError;
use crate::order::Moment;

/// Number of rows that one transaction examines.
pub(super) const ROUND_ROWS: i64 = 1_000;

/// Removes rows from before a moment, which is `$1`, at most `$2` rows at once; returns their number.
pub(super) async fn remove(
    node: &Node,
    sql: &'static str,
    before: Moment,
) -> Result<u64, StoreError> {
    let mut removed = 0;
    loop {
        let round = node.write(move |transaction, _| {
            async move {
                let statement = transaction.prepare_cached(sql).await?;
                Ok(transaction.execute(&statement, &[&micros(before), &ROUND_ROWS]).await?)
            }
            .boxed()
        });
        let round = round.await?;
        removed += round;
        if round < ROUND_ROWS as u64 {
            return Ok(removed);
        }
    }
}
