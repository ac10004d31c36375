//! Removing many rows, so many in each transaction: no statement is longer than a session's may be, and nobody
//! waits for long.

use futures_util::FutureExt as _;

use super::Node;
use super::rows::micros;
use crate::error::StoreError;
use crate::order::Moment;

/// So many rows are looked at in one transaction.
pub(super) const ROUND: i64 = 1_000;

/// Removes what is from before a moment, which is `$1`, at most `$2` rows at once; how many.
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
                Ok(transaction.execute(&statement, &[&micros(before), &ROUND]).await?)
            }
            .boxed()
        });
        let round = round.await?;
        removed += round;
        if round < ROUND as u64 {
            return Ok(removed);
        }
    }
}
