//! A log on a server.
//!
//! Reading needs a server that supports ranges, and appending one that accepts a `POST` with `If-Match`. A
//! hub also has snapshots and generations.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use feedsync_fetch::{
    FetchError, Fetched, Fetcher, Request, Response, Url, shown, without_credentials,
};
use feedsync_log::{Append, Condition, Interruption, LogRequest, LogResponse, Range, Read, Stop};
use http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_MATCH,
    IF_NONE_MATCH, LAST_MODIFIED, RANGE,
};

use super::{LogAccess, LogError, RECORDS_MEDIA_TYPE};

const GENERATION: HeaderName = HeaderName::from_static("log-generation");
const COVERS: HeaderName = HeaderName::from_static("log-covers");
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Maximum number of bytes of a snapshot.
const MAX_SNAPSHOT_BYTES: usize = 64 << 20;

/// Maximum number of bytes that are read of a response whose body is not needed.
const MAX_PROBLEM_BYTES: usize = 64 << 10;

/// Reports requests that failed and are sent again after a pause.
type Report = dyn Fn(&Stop, Duration) + Send + Sync;

/// A log on a server.
#[derive(Clone)]
pub struct RemoteLog {
    fetcher: Fetcher,
    url: Url,
    /// Target of the redirect that the last read followed. Appends are sent to it, too (LR32).
    redirect_target: Arc<OnceLock<Url>>,
    report: Option<Arc<Report>>,
}

impl fmt::Debug for RemoteLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteLog").field(&shown(&self.url)).finish()
    }
}

impl RemoteLog {
    /// Creates the log of this address. A hub has its snapshot at `{address}/snapshot`, and a web server in
    /// the file `{address}.snapshot`.
    pub fn new(fetcher: Fetcher, url: Url) -> Self {
        Self {
            fetcher: fetcher.given(url.clone()),
            url,
            redirect_target: Arc::default(),
            report: None,
        }
    }

    /// Returns the same log, which reports each retry.
    #[must_use]
    pub fn reporting(self, report: impl Fn(&Stop, Duration) + Send + Sync + 'static) -> Self {
        Self { report: Some(Arc::new(report)), ..self }
    }

    /// Returns the address to which changes are sent.
    fn here(&self) -> Url {
        self.redirect_target.get().unwrap_or(&self.url).clone()
    }

    /// Returns the log's address with a suffix.
    fn beside(&self, end: &str) -> Url {
        let mut beside = self.here();
        beside.set_path(&format!("{}{end}", beside.path().trim_end_matches('/')));
        beside
    }

    /// Reads the snapshot of a hub, or else the file beside the log (LR44).
    async fn read_snapshot(&self) -> Result<LogResponse, FetchError> {
        let at_hub = match self.request(Request::read(self.beside("/snapshot")).packed()).await? {
            RequestResult::Nothing(answer) => return Ok(*answer),
            RequestResult::Response(response) => response,
        };
        let told = head(&at_hub);
        let is_of_hub = told.covers.is_some() || told.generation.is_some();
        if is_of_hub || !matches!(told.status, 200 | 400..=406) {
            return with_body(*at_hub, 0, MAX_SNAPSHOT_BYTES).await;
        }
        // The resource at that address is not a snapshot, and may be the log itself: its body is not read.
        drop(at_hub);
        let file = self
            .answer(Request::read(self.beside(".snapshot")).packed(), MAX_SNAPSHOT_BYTES)
            .await?;
        // At a hub this is the address of another log.
        Ok(if file.generation.is_some() {
            LogResponse { status: 404, ..LogResponse::default() }
        } else {
            file
        })
    }

    async fn read(&self, read: &Read) -> Result<LogResponse, FetchError> {
        let mut request =
            Request::read(self.url.clone()).raw().header(RANGE, value(&read.range.header()));
        if let Some(tag) = &read.unless {
            request = request.header(IF_NONE_MATCH, value(tag));
        }
        let (offset, most) = match read.range {
            Range::From { offset, most } => (offset, most),
            Range::Last(most) => (0, most),
        };
        let response = match self.request(request).await? {
            RequestResult::Nothing(answer) => return Ok(*answer),
            RequestResult::Response(response) => *response,
        };
        let here = response.url();
        let told = head(&response);
        if matches!(told.status, 200 | 206) && told.is_no_log() {
            // Its body may be endless.
            return Ok(told);
        }
        if matches!(told.status, 200 | 206) && redirects_appends(&self.url, here) {
            // The first redirect is used for the whole session.
            let _ = self.redirect_target.set(here.clone());
        }
        with_body(response, offset, usize::try_from(most).unwrap_or(usize::MAX)).await
    }

    async fn append(&self, append: &Append) -> Result<LogResponse, FetchError> {
        let (url, body) = (self.here(), append.body.clone());
        let request = match &append.condition {
            Condition::Match(tag) => {
                Request::post(url, RECORDS_MEDIA_TYPE, body).header(IF_MATCH, value(tag))
            }
            Condition::Present => Request::post(url, RECORDS_MEDIA_TYPE, body)
                .header(IF_MATCH, HeaderValue::from_static("*")),
            Condition::Absent => Request::post(url, RECORDS_MEDIA_TYPE, body)
                .header(IF_NONE_MATCH, HeaderValue::from_static("*")),
            Condition::Length(length) => {
                let last = length + (append.body.len() as u64).saturating_sub(1);
                let range = format!("bytes {length}-{last}/*");
                Request::put(url, RECORDS_MEDIA_TYPE, body).header(CONTENT_RANGE, value(&range))
            }
        };
        self.answer(request.raw().header(KEY, value(&append.key)), MAX_PROBLEM_BYTES).await
    }

    /// Sends a request, and reads the response.
    async fn answer(&self, request: Request, most: usize) -> Result<LogResponse, FetchError> {
        match self.request(request).await? {
            RequestResult::Nothing(answer) => Ok(*answer),
            RequestResult::Response(response) if head(&response).is_page() => Ok(head(&response)),
            RequestResult::Response(response) => with_body(*response, 0, most).await,
        }
    }

    async fn request(&self, request: Request) -> Result<RequestResult, FetchError> {
        match self.fetcher.fetch(request).await {
            Ok(Fetched::Answer(response)) => Ok(RequestResult::Response(response)),
            Ok(Fetched::NotModified) => {
                let unchanged = LogResponse { status: 304, ended: true, ..LogResponse::default() };
                Ok(RequestResult::Nothing(Box::new(unchanged)))
            }
            Err(error) => match interruption(&error) {
                Some(interruption) => {
                    let interrupted =
                        LogResponse { interruption: Some(interruption), ..LogResponse::default() };
                    Ok(RequestResult::Nothing(Box::new(interrupted)))
                }
                None => Err(error),
            },
        }
    }
}

/// Whether changes of the log are sent to the target of a redirect, too (LR32). That is so for another
/// address of the same server, or the same name over https.
fn redirects_appends(asked: &Url, answered: &Url) -> bool {
    let is_upgrade = asked.scheme() == "http"
        && answered.scheme() == "https"
        && asked.host() == answered.host()
        && (asked.port(), answered.port()) == (None, None);
    asked != answered && (asked.origin() == answered.origin() || is_upgrade)
}

/// Outcome of a request.
enum RequestResult {
    /// No body: status 304, or no response.
    Nothing(Box<LogResponse>),
    /// A response whose body is still to be read.
    Response(Box<Response>),
}

/// Reads the body of a response. If the response has the whole log, bytes before an offset are skipped.
async fn with_body(
    mut response: Response,
    offset: u64,
    most: usize,
) -> Result<LogResponse, FetchError> {
    let mut answer = head(&response);
    let mut before = if answer.status == 200 { offset } else { 0 };
    let mut received = 0;
    loop {
        match response.chunk().await {
            Ok(None) => {
                answer.ended = true;
                break;
            }
            Ok(Some(mut chunk)) => {
                received += chunk.len() as u64;
                let passed = chunk.len().min(usize::try_from(before).unwrap_or(usize::MAX));
                before -= passed as u64;
                answer.start += passed as u64;
                answer.body.extend_from_slice(&chunk.split_off(passed));
                // One byte more than requested shows that there is more.
                if answer.body.len() > most {
                    break;
                }
            }
            Err(error) if interruption(&error).is_none() => return Err(error),
            Err(_) => {
                let announced = response.header(CONTENT_LENGTH).and_then(|text| text.parse().ok());
                // The length of a compressed body says nothing about the bytes that come out of it.
                let expected = announced.filter(|_| !response.is_unpacked());
                let host = host(response.url());
                answer.interruption = Some(Interruption::CutOff { host, received, expected });
                break;
            }
        }
    }
    Ok(answer)
}

#[async_trait]
impl LogAccess for RemoteLog {
    fn name(&self) -> String {
        shown(&self.url)
    }

    fn address(&self) -> String {
        without_credentials(self.url.as_str())
    }

    fn retrying(&self, reason: &Stop, pause: Duration) {
        if let Some(report) = &self.report {
            report(reason, pause);
        }
    }

    async fn ask(&self, ask: &LogRequest) -> Result<LogResponse, LogError> {
        Ok(match ask {
            LogRequest::Read(read) => self.read(read).await?,
            LogRequest::Append(append) => self.append(append).await?,
            LogRequest::Snapshot => self.read_snapshot().await?,
        })
    }

    async fn put_snapshot(&self, covers: &str, body: Vec<u8>) -> Result<LogResponse, LogError> {
        let request = Request::put(self.beside("/snapshot"), RECORDS_MEDIA_TYPE, body)
            .header(COVERS, value(&format!("\"{covers}\"")));
        Ok(self.answer(request.raw(), MAX_PROBLEM_BYTES).await?)
    }

    async fn begin_generation(&self, tag: &str, body: Vec<u8>) -> Result<LogResponse, LogError> {
        let request =
            Request::put(self.here(), RECORDS_MEDIA_TYPE, body).header(IF_MATCH, value(tag));
        Ok(self.answer(request.raw(), MAX_PROBLEM_BYTES).await?)
    }
}

fn head(response: &Response) -> LogResponse {
    let text = |name| response.header(name).map(str::to_owned);
    let now = SystemTime::now();
    LogResponse {
        status: response.status().as_u16(),
        etag: text(ETAG),
        generation: text(GENERATION),
        covers: text(COVERS),
        content_range: text(CONTENT_RANGE),
        media_type: text(CONTENT_TYPE),
        is_dated: text(LAST_MODIFIED).is_some(),
        coding: response.coding().map(str::to_owned),
        retry_after: response.retry_after().map(|after| after.from_now(now).as_secs()),
        ..LogResponse::default()
    }
}

/// Returns an error as an interruption, if it is unknown whether the server processed the request.
fn interruption(error: &FetchError) -> Option<Interruption> {
    let host = |url: &str| Url::parse(url).map_or_else(|_| url.to_owned(), |url| host(&url));
    match error {
        FetchError::Unreachable { url, reason } => {
            // The number of a system error means nothing to people.
            let reason = reason.split(" (os error").next().unwrap_or(reason);
            let mut letters = reason.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            let reason = first.into_iter().chain(letters).collect();
            Some(Interruption::Unreachable { host: host(url), reason })
        }
        FetchError::Timeout { url } => Some(Interruption::Silent { host: host(url) }),
        FetchError::Interrupted { url, .. } => {
            Some(Interruption::CutOff { host: host(url), received: 0, expected: None })
        }
        _ => None,
    }
}

/// Returns the host of an address, with its port.
fn host(url: &Url) -> String {
    let name = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"))
}

/// Returns a text as the value of a header. An invalid text was never sent by a server, so it becomes a value
/// that matches nothing.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("\"\""))
}
