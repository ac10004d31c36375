//! Feeds with edits that they do not show yet: made once for all who ask for the same one, and only a few at a
//! time, since each is read and written whole (BITSY 3.1.1).

use std::sync::Arc;

use bytes::Bytes;
use feedsync_offline::interceptor::Composed;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::Semaphore;

use crate::agent::{Agent, AgentError};

/// Bytes that all take which are kept, at most.
const ROOM: u64 = 8 << 20;

/// About so many bytes takes one beside its document, and so many each edit in it.
const OVERHEAD: u64 = 512;

/// How many are made at once.
const AT_ONCE: usize = 2;

/// The feeds that were made last.
#[derive(Debug)]
pub(super) struct Feeds {
    kept: Cache<Composed, Bytes, Weight>,
    room: Semaphore,
}

impl Default for Feeds {
    fn default() -> Self {
        let items = usize::try_from(ROOM / OVERHEAD / 8).unwrap_or(usize::MAX);
        Self { kept: Cache::with_weighter(items, ROOM, Weight), room: Semaphore::new(AT_ONCE) }
    }
}

impl Feeds {
    /// The document of a feed.
    pub(super) async fn bytes(
        &self,
        agent: &Arc<Agent>,
        composed: &Composed,
    ) -> Result<Bytes, AgentError> {
        self.kept.get_or_insert_async(composed, self.made(agent, composed)).await
    }

    async fn made(&self, agent: &Arc<Agent>, composed: &Composed) -> Result<Bytes, AgentError> {
        // It is never closed; were it, nobody would have to wait.
        let _place = self.room.acquire().await.ok();
        let (reader, composed) = (agent.reader(), composed.clone());
        // Takes as long as the feed is large.
        let made = tokio::task::spawn_blocking(move || composed.bytes(&reader));
        Ok(Bytes::from(made.await??))
    }
}

/// About how many bytes a feed takes.
#[derive(Debug, Clone)]
struct Weight;

impl Weighter<Composed, Bytes> for Weight {
    fn weight(&self, composed: &Composed, document: &Bytes) -> u64 {
        OVERHEAD * (1 + composed.edits.len() as u64) + document.len() as u64
    }
}
