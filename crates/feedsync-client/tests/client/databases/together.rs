//! Two concurrent runs of one replication.

use std::time::Duration;

use feedsync_client::replicate::{Replication, ReplicationPace};
use feedsync_endpoint::documents::Edits;
use tokio::time::sleep;

use super::world::Rough;
use super::{NoProgress, Shelf};

/// Neither run ends the other, and the checkpoints of both are correct.
#[test]
fn concurrent_runs_of_one_replication_do_not_interfere() {
    for seed in 0..100 {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (one, other) = (Shelf::new(seed * 2).await, Shelf::new(seed * 2 + 1).await);
            one.write("{\"_id\":\"first\"}", Edits::New).await.unwrap();
            other.take(&one).await;
            let run = async |number: u64| {
                let checkpoint = Duration::from_millis(20 + 30 * number);
                let pace = ReplicationPace { page: 3, batch: 2, batches: 2, checkpoint };
                let live = Replication { is_continuous: true, pace, ..Replication::default() };
                let source = Rough::slow(one.replica(), seed * 4 + number);
                let target = Rough::slow(other.replica(), seed * 4 + 2 + number);
                let stop = sleep(Duration::from_secs(30));
                live.run(source, target, one.environment(), &NoProgress, stop).await
            };
            let edit = async {
                for number in 0..60 {
                    let text = format!("{{\"_id\":\"{number}\"}}");
                    one.write(&text, Edits::New).await.unwrap();
                    sleep(Duration::from_millis(seed)).await;
                }
            };
            let (first, second, ()) = tokio::join!(run(0), run(1), edit);
            for done in [first, second] {
                let done = done.unwrap_or_else(|error| panic!("{seed}: {error}"));
                assert!(done.has_checkpoints);
            }
            assert_eq!(one.leaves().await, other.leaves().await, "{seed}");
            assert_eq!(other.take(&one).await.stats.missing, 0, "{seed}");
        });
    }
}
