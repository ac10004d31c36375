//! A log on a server.
//!
//! Any server that knows ranges will do for reading, and for appending one that takes a `POST` under
//! `If-Match`. A hub has snapshots and generations beside that.

use std::time::SystemTime;

use async_trait::async_trait;
use feedsync_log::{Answer, Append, Ask, Condition, Range, Read};
use http::header::{
    CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, IF_MATCH,
    IF_NONE_MATCH, RANGE,
};

use super::{LogAccess, LogError, RECORDS};
use crate::fetch::{FetchError, Fetched, Fetcher, Request, Response, Url, shown};

const GENERATION: HeaderName = HeaderName::from_static("log-generation");
const COVERS: HeaderName = HeaderName::from_static("log-covers");
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The most bytes of a snapshot.
const MOST_SNAPSHOT: usize = 64 << 20;

/// The most bytes that are read of an answer whose body nobody needs.
const MOST_PROBLEM: usize = 64 << 10;

/// A log on a server.
#[derive(Debug, Clone)]
pub struct RemoteLog {
    fetcher: Fetcher,
    url: Url,
    snapshot: Url,
    /// The file that a web server has as a snapshot.
    snapshot_file: Url,
}

impl RemoteLog {
    /// The log of this address. A hub has its snapshot at `{address}/snapshot`, a web server as the file
    /// `{address}.snapshot`.
    pub fn new(fetcher: Fetcher, url: Url) -> Self {
        let path = url.path().trim_end_matches('/');
        let beside = |end: &str| {
            let mut beside = url.clone();
            beside.set_path(&format!("{path}{end}"));
            beside
        };
        let (snapshot, snapshot_file) = (beside("/snapshot"), beside(".snapshot"));
        Self { fetcher: fetcher.given(url.clone()), snapshot, snapshot_file, url }
    }

    /// The snapshot of a server that says what it covers, or else the file beside the log (R44).
    async fn read_snapshot(&self) -> Result<Answer, FetchError> {
        let read = |url: &Url| self.answer(Request::read(url.clone()), 0, MOST_SNAPSHOT);
        let answer = read(&self.snapshot).await?;
        let is_of_hub = answer.covers.is_some() || answer.generation.is_some();
        if is_of_hub || !matches!(answer.status, 200 | 400 | 404..=406) {
            return Ok(answer);
        }
        let file = read(&self.snapshot_file).await?;
        // At a hub that is another log, and whoever may not read it lacks nothing.
        let is_none = matches!(file.status, 400..=407 | 410) || file.generation.is_some();
        Ok(if is_none { answer } else { file })
    }

    async fn read(&self, read: &Read) -> Result<Answer, FetchError> {
        let mut request =
            Request::read(self.url.clone()).header(RANGE, value(&read.range.header()));
        if let Some(tag) = &read.unless {
            request = request.header(IF_NONE_MATCH, value(tag));
        }
        let (offset, most) = match read.range {
            Range::From { offset, most } => (offset, most),
            Range::Last(most) => (0, most),
        };
        self.answer(request, offset, usize::try_from(most).unwrap_or(usize::MAX)).await
    }

    async fn append(&self, append: &Append) -> Result<Answer, FetchError> {
        let (url, body) = (self.url.clone(), append.body.clone());
        let request = match &append.condition {
            Condition::Match(tag) => Request::post(url, RECORDS, body).header(IF_MATCH, value(tag)),
            Condition::Present => {
                Request::post(url, RECORDS, body).header(IF_MATCH, HeaderValue::from_static("*"))
            }
            Condition::Absent => Request::post(url, RECORDS, body)
                .header(IF_NONE_MATCH, HeaderValue::from_static("*")),
            Condition::Length(length) => {
                let last = length + (append.body.len() as u64).saturating_sub(1);
                let range = format!("bytes {length}-{last}/*");
                Request::put(url, RECORDS, body).header(CONTENT_RANGE, value(&range))
            }
        };
        self.answer(request.header(KEY, value(&append.key)), 0, MOST_PROBLEM).await
    }

    /// Makes a request; of an answer with everything, the bytes before an offset are passed over.
    async fn answer(
        &self,
        request: Request,
        offset: u64,
        most: usize,
    ) -> Result<Answer, FetchError> {
        let mut response = match self.fetcher.fetch(request.as_it_is()).await {
            Ok(Fetched::NotModified) => {
                return Ok(Answer { status: 304, ended: true, ..Answer::default() });
            }
            Ok(Fetched::Answer(response)) => response,
            Err(error) if is_no_answer(&error) => return Ok(Answer::default()),
            Err(error) => return Err(error),
        };
        let mut answer = head(&response);
        let mut before = if answer.status == 200 { offset } else { 0 };
        loop {
            match response.chunk().await {
                Ok(None) => {
                    answer.ended = true;
                    break;
                }
                Ok(Some(mut chunk)) => {
                    let passed = chunk.len().min(usize::try_from(before).unwrap_or(usize::MAX));
                    before -= passed as u64;
                    answer.start += passed as u64;
                    answer.body.extend_from_slice(&chunk.split_off(passed));
                    // One more than wanted shows that there is more.
                    if answer.body.len() > most {
                        break;
                    }
                }
                Err(error) if is_no_answer(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(answer)
    }
}

#[async_trait]
impl LogAccess for RemoteLog {
    fn name(&self) -> String {
        shown(&self.url)
    }

    async fn ask(&self, ask: &Ask) -> Result<Answer, LogError> {
        Ok(match ask {
            Ask::Read(read) => self.read(read).await?,
            Ask::Append(append) => self.append(append).await?,
            Ask::Snapshot => self.read_snapshot().await?,
        })
    }

    async fn put_snapshot(&self, covers: &str, body: Vec<u8>) -> Result<Answer, LogError> {
        let request = Request::put(self.snapshot.clone(), RECORDS, body)
            .header(COVERS, value(&format!("\"{covers}\"")));
        Ok(self.answer(request, 0, MOST_PROBLEM).await?)
    }

    async fn begin_generation(&self, tag: &str, body: Vec<u8>) -> Result<Answer, LogError> {
        let request = Request::put(self.url.clone(), RECORDS, body).header(IF_MATCH, value(tag));
        Ok(self.answer(request, 0, MOST_PROBLEM).await?)
    }
}

fn head(response: &Response) -> Answer {
    let text = |name| response.header(name).map(str::to_owned);
    let now = SystemTime::now();
    Answer {
        status: response.status().as_u16(),
        etag: text(ETAG),
        generation: text(GENERATION),
        covers: text(COVERS),
        content_range: text(CONTENT_RANGE),
        media_type: text(CONTENT_TYPE),
        coding: text(CONTENT_ENCODING).filter(|coding| !coding.eq_ignore_ascii_case("identity")),
        retry_after: response.retry_after().map(|after| after.from_now(now).as_secs()),
        ..Answer::default()
    }
}

/// Whether nobody knows what the server made of a request, or of its rest.
fn is_no_answer(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::Unreachable { .. }
            | FetchError::Timeout { .. }
            | FetchError::Interrupted { .. }
    )
}

/// A header's value. What cannot be one was not sent by any server, and matches nothing.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("\"\""))
}
