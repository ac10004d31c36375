//! Removal of expired data, soon after the start and every hour.
//!
//! It removes: items past the retention limits of their collection (FeedSync 4.2.4); blobs that no item has
//! named for a day, which gives a client time to send the item; generations of logs that ended long ago
//! (LR46); tokens and sessions that expired a month ago, which until then are listed as expired; old entries
//! of the audit record; revisions that the histories of databases no longer keep; and database content that is mostly
//! superseded, or belonged to a dropped database.

use std::collections::HashMap;
use std::time::Duration;

use feedsync_endpoint::{Actor, Endpoint, RetentionProgress};
use feedsync_store::{CollectionName, Moment, StoreError};
use tokio::time::interval;

use crate::config::Limits;

const MIN_BLOB_AGE: Duration = Duration::from_secs(24 * 60 * 60);
const MIN_EXPIRED_TOKEN_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Sweeps every hour, for as long as it is polled.
pub(crate) async fn hourly(endpoint: Endpoint, limits: Limits) {
    // The record attributes automatic removals to no user.
    let endpoint = endpoint.on_behalf_of(Actor::default());
    let mut retained = HashMap::new();
    let mut pause = interval(SWEEP_INTERVAL);
    loop {
        pause.tick().await;
        if let Err(error) = retain(&endpoint, &mut retained).await {
            tracing::warn!(%error, "cannot list data past its retention");
        }
        match blobs(&endpoint).await {
            Ok(0) => {}
            Ok(blobs) => tracing::info!(blobs, "deleted blobs that no item has named for a day"),
            Err(error) => tracing::warn!(%error, "cannot delete unused blobs"),
        }
        match generations(&endpoint, limits.log_generation_time).await {
            Ok(0) => {}
            Ok(generations) => tracing::info!(generations, "deleted old generations of logs"),
            Err(error) => tracing::warn!(%error, "cannot delete old generations of logs"),
        }
        if let Err(error) = endpoint.expire_histories().await {
            tracing::warn!(%error, "cannot delete expired histories of databases");
        }
        match endpoint.compact_databases().await {
            Ok(0) => {}
            Ok(databases) => tracing::info!(databases, "compacted databases"),
            Err(error) => tracing::warn!(%error, "cannot compact databases"),
        }
        if let Err(error) = databases(&endpoint).await {
            tracing::warn!(%error, "cannot delete the data of dropped databases");
        }
        if let Err(error) = tokens(&endpoint).await {
            tracing::warn!(%error, "cannot delete expired tokens");
        }
        match acts(&endpoint, limits.record_time).await {
            Ok(0) => {}
            Ok(acts) => tracing::info!(acts, "deleted old audit entries"),
            Err(error) => tracing::warn!(%error, "cannot delete old audit entries"),
        }
    }
}

/// Deletes content of databases whose deletion was interrupted when the hub stopped.
async fn databases(endpoint: &Endpoint) -> Result<(), StoreError> {
    let databases = endpoint.databases();
    while databases.sweep_databases().await? {}
    Ok(())
}

/// Purges items past the retention limits of each collection. A failure in one does not stop the others.
async fn retain(
    endpoint: &Endpoint,
    retained: &mut HashMap<CollectionName, RetentionProgress>,
) -> Result<(), StoreError> {
    let collections = endpoint.collections().await?;
    retained.retain(|name, _| collections.iter().any(|collection| collection.name == *name));
    for collection in collections {
        let name = collection.name;
        match endpoint.retain(&name, retained.entry(name.clone()).or_default()).await {
            Ok(0) => {}
            Ok(items) => {
                tracing::info!(collection = %name, items, "purged items past their retention")
            }
            Err(error) => tracing::warn!(collection = %name, %error, "cannot purge items"),
        }
    }
    Ok(())
}

async fn blobs(endpoint: &Endpoint) -> Result<u64, StoreError> {
    endpoint.sweep_blobs(before(endpoint, MIN_BLOB_AGE)).await
}

async fn generations(endpoint: &Endpoint, kept: Duration) -> Result<u64, StoreError> {
    endpoint.sweep_logs(before(endpoint, kept)).await
}

async fn tokens(endpoint: &Endpoint) -> Result<u64, StoreError> {
    endpoint.remove_expired_tokens(before(endpoint, MIN_EXPIRED_TOKEN_AGE)).await
}

/// Removes entries of the audit record that are older than this; none if it is zero.
async fn acts(endpoint: &Endpoint, kept: Duration) -> Result<u64, StoreError> {
    match kept {
        Duration::ZERO => Ok(0),
        kept => endpoint.remove_acts(before(endpoint, kept)).await,
    }
}

/// The moment that is this period ago.
fn before(endpoint: &Endpoint, period: Duration) -> Moment {
    let period = u64::try_from(period.as_micros()).unwrap_or(u64::MAX);
    Moment::from_micros(endpoint.environment().now().micros().saturating_sub(period))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use feedsync_core::{Creation, Edit, Format};
    use feedsync_endpoint::NewUser;
    use feedsync_formats::{Entry, compose};
    use feedsync_store::{
        Append, AuditSelection, EndpointName, Environment, Expected, MemoryStore, NewCollection,
        NewGeneration, UserName,
    };

    use super::*;

    #[derive(Default)]
    struct Clock(AtomicU64);

    impl Clock {
        fn hours(&self, hours: u64) {
            self.0.store(hours * 3_600_000_000, Ordering::Relaxed);
        }
    }

    impl Environment for Clock {
        fn now(&self) -> Moment {
            Moment::from_micros(self.0.load(Ordering::Relaxed))
        }

        fn random(&self) -> u64 {
            7
        }
    }

    fn hub() -> (Endpoint, Arc<Clock>) {
        let clock = Arc::new(Clock::default());
        clock.hours(1_000);
        let store = MemoryStore::new(&EndpointName::new("hub").unwrap(), clock.clone());
        (Endpoint::new(Arc::new(store), clock.clone()), clock)
    }

    #[tokio::test]
    async fn each_collection_forgets_what_it_keeps_no_longer_and_the_record_says_so() {
        let (endpoint, clock) = hub();
        for (name, keep) in
            [("a", "{\"moons\": 1}"), ("b", "{\"tombstones\": \"1d\"}"), ("c", "{}")]
        {
            let name = CollectionName::new(name).unwrap();
            let settings = [("keep".to_owned(), keep.to_owned())].into();
            let (title, format) = (String::new(), Format::Atom);
            let new = NewCollection { name: name.clone(), title, format, settings };
            endpoint.create_collection(new).await.unwrap();
            let (id, entry) = (endpoint.new_id(), compose(Format::Atom, &Entry::default()));
            endpoint.add(&name, id.clone(), Creation::default(), entry).await.unwrap();
            endpoint.edit(&name, &id, None, Edit::delete()).await.unwrap();
            endpoint.mark_sent(&name, feedsync_store::ChangeNumber::new(2)).await.unwrap();
        }
        let recorded = endpoint.on_behalf_of(Actor::default());
        let mut retained = HashMap::new();
        for (hours, expected) in [(1_023, [1, 1, 1]), (1_025, [1, 0, 1])] {
            clock.hours(hours);
            retain(&recorded, &mut retained).await.unwrap();
            let collections = endpoint.collections().await.unwrap();
            assert!(collections.iter().map(|collection| collection.deleted).eq(expected));
        }
        let selection = AuditSelection { limit: 9, ..AuditSelection::default() };
        let acts = endpoint.acts(selection).await.unwrap();
        let [purge] = &acts[..] else { panic!("{acts:?}") };
        let b = CollectionName::new("b").unwrap();
        assert_eq!((&*purge.act.action, &purge.act.collection), ("purge", &Some(b.clone())));
        endpoint.drop_collection(&b).await.unwrap();
        retain(&recorded, &mut retained).await.unwrap();
        assert_eq!(retained.len(), 2);
    }

    #[tokio::test]
    async fn a_session_that_ended_is_forgotten_after_a_month() {
        let (endpoint, clock) = hub();
        let anna = UserName::new("anna").unwrap();
        let new = NewUser {
            name: anna.clone(),
            password: None,
            administrator: true,
            databases_only: false,
        };
        endpoint.add_user(new).await.unwrap();
        endpoint.begin_session(anna, String::new(), "1h".parse().unwrap()).await.unwrap();
        clock.hours(1_001 + 30 * 24);
        assert_eq!(tokens(&endpoint).await.unwrap(), 0);
        clock.hours(1_002 + 30 * 24);
        assert_eq!(tokens(&endpoint).await.unwrap(), 1);
    }

    #[tokio::test]
    async fn the_record_of_acts_keeps_entries_for_as_long_as_is_set() {
        let (endpoint, clock) = hub();
        for hours in [1_000, 1_010] {
            clock.hours(hours);
            endpoint.record(Actor::default().act("failed sign-in")).await.unwrap();
        }
        clock.hours(1_015);
        let hours = |hours: u64| Duration::from_secs(hours * 60 * 60);
        assert_eq!(acts(&endpoint, Duration::ZERO).await.unwrap(), 0);
        assert_eq!(acts(&endpoint, hours(15)).await.unwrap(), 0);
        assert_eq!(acts(&endpoint, hours(14)).await.unwrap(), 1);
        let selection = AuditSelection { limit: 9, ..AuditSelection::default() };
        assert_eq!(endpoint.acts(selection).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_generation_that_ended_is_kept_for_as_long_as_is_set() {
        let (endpoint, clock) = hub();
        let name = CollectionName::new("a").unwrap();
        let (title, format, settings) = (String::new(), Format::Atom, Default::default());
        let new = NewCollection { name: name.clone(), title, format, settings };
        endpoint.create_collection(new).await.unwrap();
        let append = Append {
            expected: Expected::Absent,
            bytes: b"one\n".to_vec(),
            media_type: "application/x-ndjson".to_owned(),
            key: None,
            most: 100,
            act: None,
        };
        endpoint.append_to_log(&name, append).await.unwrap();
        let first = endpoint.log(&name).await.unwrap().unwrap().place.generation;
        // Its end is long after its beginning.
        clock.hours(2_000);
        let new =
            NewGeneration { expected: Expected::Present, bytes: Vec::new(), most: 100, act: None };
        endpoint.begin_log_generation(&name, new).await.unwrap();
        let kept = Duration::from_secs(3 * 60 * 60);
        for (hours, swept) in [(2_000, 0), (2_003, 0), (2_004, 1), (3_000, 0)] {
            clock.hours(hours);
            assert_eq!(generations(&endpoint, kept).await.unwrap(), swept, "{hours}");
            let read = endpoint.read_log(&name, first, 0, 9).await.unwrap();
            assert_eq!(read.is_some(), hours < 2_004);
        }
    }

    #[tokio::test]
    async fn a_blob_that_nobody_names_is_kept_for_a_day() {
        let (endpoint, clock) = hub();
        let digest = endpoint.put_blob(b"picture".to_vec()).await.unwrap();
        clock.hours(1_023);
        assert_eq!(blobs(&endpoint).await.unwrap(), 0);
        assert!(endpoint.blob(digest).await.unwrap().is_some());
        clock.hours(1_025);
        assert_eq!(blobs(&endpoint).await.unwrap(), 1);
        assert!(endpoint.blob(digest).await.unwrap().is_none());
    }
}
