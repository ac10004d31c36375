//! A database of a server: a hub, CouchDB, pouchdb-server.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use feedsync_couch::replication::{
    ChangedDocument, ChangesPage, FetchedDocument, InvalidResponse, MissingDocument,
    RejectedDocument, UnavailableRevision, differences_request, documents_request,
    read_differences, read_documents, read_rejected_documents, write_request,
};
use feedsync_couch::{Json, quoted, text};
use feedsync_fetch::{FetchError, Fetched, Fetcher, Request, Url, address, shown};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::batch_replicator::MAX_BYTES as MAX_DOCUMENT_BYTES;
use super::{ChangesQuery, Replica, ReplicaLocalDocument, ReplicationError, ReplicationFilter};
use crate::watch::Pace;

const JSON: &str = "application/json";

/// Maximum number of bytes of a response without documents.
const MAX_BYTES: u64 = 64 << 20;

/// Maximum number of bytes of a local document.
const MAX_LOCAL_BYTES: u64 = 1 << 20;

/// Timeouts of a filtered request, for each wait and in all: a filter may reject very many documents before
/// one passes.
const FILTER_TIMEOUTS: [Duration; 2] = [Duration::from_secs(10 * 60), Duration::from_secs(60 * 60)];

/// Longest `Retry-After` that is accepted if the number of attempts is limited.
const MAX_SERVER_DELAY: Duration = Duration::from_secs(60);

/// Interval in milliseconds at which a server sends a heartbeat while nothing changes.
const HEARTBEAT: &str = "10000";

/// Retries for a server that cannot be reached, or is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of attempts; `None` is no limit.
    pub tries: Option<u32>,
    /// Pause after the first failure; doubled with each further one, up to a minute.
    pub pause: Duration,
}

impl RetryPolicy {
    /// Six attempts, for eight seconds.
    pub const BOUNDED: Self = Self { tries: Some(6), pause: Duration::from_millis(250) };

    /// Attempts without a limit.
    pub const UNBOUNDED: Self = Self { tries: None, ..Self::BOUNDED };

    fn pace(self) -> Pace {
        let longest = Duration::from_secs(60);
        Pace { pause: self.pause, longest, ..Pace::default() }
    }
}

/// A database of a server.
#[derive(Clone)]
pub struct RemoteDatabase {
    fetcher: Fetcher,
    url: Url,
    retry_policy: RetryPolicy,
    waits: Option<OnWait>,
    headers: HeaderMap,
}

/// Callback that gets the reason for a retry and the pause before it.
pub type OnWait = Arc<dyn Fn(&FetchError, Duration) + Send + Sync>;

impl RemoteDatabase {
    /// Creates the database of an address, which may contain a name and a password if they are needed and
    /// there is no login.
    pub fn new(
        fetcher: Fetcher,
        named: &str,
        retry_policy: RetryPolicy,
    ) -> Result<Self, FetchError> {
        let mut url = address(named)?;
        url.set_query(None);
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
        }
        let fetcher = fetcher.up_to(MAX_DOCUMENT_BYTES);
        Ok(Self { fetcher, url, retry_policy, waits: None, headers: HeaderMap::new() })
    }

    /// Returns the same database, to which each request has this header. It may be a secret: it is not sent to
    /// other origins, and not shown.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.headers.insert(name, value);
        self
    }

    /// Returns the same database, to which requests are sent with a user name and a password.
    #[must_use]
    pub fn with_credentials(mut self, user: &str, password: &str) -> Self {
        // Both fail only for addresses without a host.
        let _ = self.url.set_username(user);
        let _ = self.url.set_password(Some(password));
        self
    }

    /// Returns the same database, which reports its retries.
    #[must_use]
    pub fn with_wait_callback(self, waits: OnWait) -> Self {
        Self { waits: Some(waits), ..self }
    }

    /// Returns the address of a part of the database.
    fn part(&self, segments: &[&str], pairs: &[(&str, &str)]) -> Url {
        let mut url = self.url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend(segments);
        }
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        url
    }

    /// Sends a request, and retries it if the server is not reached or temporarily unavailable.
    async fn ask(&self, request: Request) -> Result<Json, ReplicationError> {
        let mut failures = 0;
        loop {
            let request = request.clone().accept(JSON);
            let headers = self.headers.iter();
            let request = headers.fold(request, |request, (name, value)| {
                request.header(name.clone(), value.clone())
            });
            let error = match self.answer(request).await {
                Ok(bytes) => {
                    let read = Json::read_envelope(bytes);
                    return read.map_err(|_| self.bad(InvalidResponse("it is not JSON")));
                }
                Err(error) => error,
            };
            failures += 1;
            let is_patient = self.retry_policy.tries.is_none_or(|tries| failures < tries);
            // A sign-in page disappears once somebody signs in. Only a database without a limit of attempts
            // waits for that.
            let is_page =
                matches!(error, FetchError::Page { .. }) && self.retry_policy.tries.is_none();
            if !(is_passing(&error) || is_page) || !is_patient {
                return Err(error.into());
            }
            let mut pause = self.retry_policy.pace().after(failures);
            if let FetchError::Status { retry_after: Some(wish), .. } = &error {
                let wish = wish.from_now(SystemTime::now());
                if self.retry_policy.tries.is_some() && wish > MAX_SERVER_DELAY {
                    return Err(error.into());
                }
                pause = pause.max(wish);
            }
            self.waits.iter().for_each(|waits| waits(&error, pause));
            tokio::time::sleep(pause).await;
        }
    }

    async fn answer(&self, request: Request) -> Result<Vec<u8>, FetchError> {
        match self.fetcher.fetch(request).await? {
            Fetched::Answer(response) => {
                response.refuse_page()?;
                response.into_bytes().await
            }
            Fetched::NotModified => Err(FetchError::unexpected_not_modified(&self.url)),
        }
    }

    fn bad(&self, source: InvalidResponse) -> ReplicationError {
        ReplicationError::Answer { database: self.shown(), source }
    }

    fn post(&self, segments: &[&str], pairs: &[(&str, &str)], body: impl Into<Bytes>) -> Request {
        Request::post(self.part(segments, pairs), JSON, body).within(MAX_BYTES)
    }

    /// Returns the address of a local document.
    fn local_address(&self, id: &str) -> Url {
        self.part(&["_local", id], &[])
    }

    async fn start_time(&self, request: Request) -> Result<String, ReplicationError> {
        let answer = self.ask(request).await?;
        let started = answer.root().member("instance_start_time");
        Ok(started.map(|it| it.value.raw().to_owned()).unwrap_or_default())
    }
}

#[async_trait]
impl Replica for RemoteDatabase {
    fn shown(&self) -> String {
        shown(&self.url)
    }

    async fn open(&self, creates: bool) -> Result<String, ReplicationError> {
        let look = Request::read(self.part(&[], &[])).within(MAX_BYTES);
        match self.ask(look).await {
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) && creates => {
                let make = Request::put(self.part(&[], &[]), JSON, Bytes::new());
                match self.ask(make).await {
                    // Another client has created it.
                    Err(error) if error.status() == Some(StatusCode::PRECONDITION_FAILED) => {}
                    made => {
                        let made = made?.root().member("ok").map(|it| it.value.raw() == "true");
                        if made != Some(true) {
                            return Err(self.bad(InvalidResponse(
                                "it does not confirm that the database was created",
                            )));
                        }
                    }
                }
            }
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => {
                return Err(ReplicationError::NoDatabase { database: self.shown() });
            }
            found => {
                let found = found?;
                if !["db_name", "update_seq"].iter().any(|it| found.root().member(it).is_some()) {
                    return Err(self.bad(InvalidResponse("it does not describe a database")));
                }
            }
        }
        let mut id = self.url.clone();
        // It is the same database for every user. Both calls fail only for addresses without a host.
        let _ = id.set_username("");
        let _ = id.set_password(None);
        Ok(id.into())
    }

    async fn changes(&self, asked: ChangesQuery<'_>) -> Result<ChangesPage, ReplicationError> {
        let (after, most) = (asked.after.in_query(), asked.most.to_string());
        let mut pairs = vec![("style", "all_docs"), ("since", &*after), ("limit", &*most)];
        if asked.waits {
            pairs.extend([("feed", "longpoll"), ("heartbeat", HEARTBEAT)]);
        }
        let body = match asked.filter {
            ReplicationFilter::All => None,
            ReplicationFilter::Selector { text, .. } => {
                pairs.push(("filter", "_selector"));
                Some(format!("{{\"selector\":{text}}}"))
            }
            ReplicationFilter::Ids(ids) => {
                pairs.push(("filter", "_doc_ids"));
                let ids: Vec<String> = ids.iter().map(|id| quoted(id)).collect();
                Some(format!("{{\"doc_ids\":[{}]}}", ids.join(",")))
            }
        };
        let request = match body {
            None => Request::read(self.part(&["_changes"], &pairs)).within(MAX_BYTES),
            Some(body) => self.post(&["_changes"], &pairs, body),
        };
        let request = if asked.waits { request.endless() } else { request };
        let page = match asked.filter {
            ReplicationFilter::All => self.ask(request).await?,
            _ => {
                let [idle, overall] = FILTER_TIMEOUTS;
                let fetcher = self.fetcher.within(idle, overall);
                Self { fetcher, ..self.clone() }.ask(request).await?
            }
        };
        ChangesPage::read(&page).map_err(|it| self.bad(it))
    }

    async fn missing(
        &self,
        changed: &[ChangedDocument],
    ) -> Result<Vec<MissingDocument>, ReplicationError> {
        let answer =
            self.ask(self.post(&["_revs_diff"], &[], differences_request(changed))).await?;
        read_differences(&answer).map_err(|it| self.bad(it))
    }

    async fn documents(
        &self,
        missing: &[MissingDocument],
        most_bytes: u64,
    ) -> Result<(Vec<FetchedDocument>, Vec<UnavailableRevision>), ReplicationError> {
        let pairs = [("revs", "true"), ("latest", "true"), ("attachments", "true")];
        let request = self.post(&["_bulk_get"], &pairs, documents_request(missing));
        // Many such responses may share one slow connection. They have no overall timeout as long as bytes
        // arrive.
        let answer = self.ask(request.within(most_bytes).endless()).await?;
        read_documents(&answer).map_err(|it| self.bad(it))
    }

    async fn write(
        &self,
        documents: &[FetchedDocument],
    ) -> Result<Vec<RejectedDocument>, ReplicationError> {
        let answer = self.ask(self.post(&["_bulk_docs"], &[], write_request(documents))).await?;
        read_rejected_documents(&answer).map_err(|it| self.bad(it))
    }

    async fn settle(&self) -> Result<String, ReplicationError> {
        match self.start_time(self.post(&["_ensure_full_commit"], &[], Bytes::new())).await {
            // Servers without this request write durably at once.
            Err(error) if matches!(error.status().map(|it| it.as_u16()), Some(404 | 405 | 501)) => {
                self.start_time(Request::read(self.part(&[], &[])).within(MAX_BYTES)).await
            }
            started => started,
        }
    }

    async fn local(&self, id: &str) -> Result<Option<ReplicaLocalDocument>, ReplicationError> {
        let answer =
            match self.ask(Request::read(self.local_address(id)).within(MAX_LOCAL_BYTES)).await {
                Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => return Ok(None),
                answer => answer?,
            };
        let revision = answer.root().member("_rev").and_then(|it| text(it.value));
        let revision = revision
            .ok_or_else(|| self.bad(InvalidResponse("a document in it has no valid revision")))?;
        Ok(Some(ReplicaLocalDocument {
            revision: revision.into_owned(),
            text: answer.root().raw().to_owned(),
        }))
    }

    async fn put_local(&self, id: &str, text: String) -> Result<String, ReplicationError> {
        let answer = self.ask(Request::put(self.local_address(id), JSON, text)).await?;
        let revision = answer.root().member("rev").and_then(|it| feedsync_couch::text(it.value));
        let revision = revision
            .ok_or_else(|| self.bad(InvalidResponse("a document in it has no valid revision")))?;
        Ok(revision.into_owned())
    }
}

/// Whether a failure is temporary.
fn is_passing(error: &FetchError) -> bool {
    match error {
        FetchError::Unreachable { .. }
        | FetchError::Timeout { .. }
        | FetchError::Interrupted { .. } => true,
        FetchError::Status { status, problem, .. } => match status.as_u16() {
            408 | 429 | 500 | 502 | 503 | 504 => true,
            // A database gives a reason.
            400 | 422 => problem.is_none(),
            _ => false,
        },
        _ => false,
    }
}
