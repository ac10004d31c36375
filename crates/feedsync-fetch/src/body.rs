//! Body of a response, bounded in size and time. A compressed body is bounded while it is decompressed:
//! repetitive text may be compressed by a factor of a thousand, and is accepted.

use std::future::Future;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use tokio::time::{Instant, timeout_at};

use crate::error::{FetchError, cause};
use crate::response::Head;
use crate::traffic::Traffic;

/// Number of compressed bytes that are decompressed at once: at the maximum ratio of 1,032 to 1 they become 4
/// MiB.
const SLICE_BYTES: usize = 4 << 10;

/// Timeouts of a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitLimits {
    pub(crate) idle: Duration,
    pub(crate) deadline: Option<Instant>,
}

impl WaitLimits {
    /// Waits for a future; `None` after a timeout.
    pub(crate) async fn on<F: Future>(self, future: F) -> Option<F::Output> {
        let idle = Instant::now() + self.idle;
        let end = self.deadline.map_or(idle, |deadline| deadline.min(idle));
        timeout_at(end, future).await.ok()
    }
}

#[derive(Debug)]
pub(crate) struct Body {
    url: String,
    answer: reqwest::Response,
    gzip: Option<MultiGzDecoder<Vec<u8>>>,
    pending: Bytes,
    limit: u64,
    wait: WaitLimits,
    travelled: u64,
    decoded: u64,
    traffic: Arc<Traffic>,
}

impl Body {
    /// Creates a decompressed body with a maximum size.
    pub(crate) fn bounded(
        head: &Head,
        answer: reqwest::Response,
        limit: u64,
        wait: WaitLimits,
        traffic: Arc<Traffic>,
    ) -> Result<Self, FetchError> {
        let gzip = decoder(head).map_err(|coding| {
            let reason =
                format!("the response has the Content-Encoding {coding}, which was not requested");
            FetchError::Encoding { url: head.shown(), reason }
        })?;
        let announced = head.text(CONTENT_LENGTH).and_then(|text| text.parse::<u64>().ok());
        if announced.is_some_and(|length| length > limit) {
            return Err(FetchError::TooLarge { url: head.shown(), limit });
        }
        Ok(Self { gzip, limit, ..Self::raw(head, answer, wait, traffic) })
    }

    /// Creates a decompressed body, which stays compressed if its coding is unknown. The reader limits its
    /// size.
    pub(crate) fn unpacked(
        head: &Head,
        answer: reqwest::Response,
        wait: WaitLimits,
        traffic: Arc<Traffic>,
    ) -> Self {
        let gzip = decoder(head).ok().flatten();
        Self { gzip, ..Self::raw(head, answer, wait, traffic) }
    }

    /// Creates a body that is not decompressed. The reader limits its size.
    pub(crate) fn raw(
        head: &Head,
        answer: reqwest::Response,
        wait: WaitLimits,
        traffic: Arc<Traffic>,
    ) -> Self {
        Self {
            url: head.shown(),
            answer,
            gzip: None,
            pending: Bytes::new(),
            limit: u64::MAX,
            wait,
            travelled: 0,
            decoded: 0,
            traffic,
        }
    }

    /// Whether the body is sent compressed and is decompressed here.
    pub(crate) fn is_unpacked(&self) -> bool {
        self.gzip.is_some()
    }

    /// Returns the next piece; `None` at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        loop {
            if self.pending.is_empty() {
                match self.receive().await? {
                    Some(bytes) => self.pending = bytes,
                    None => return self.finish(),
                }
            }
            let decoded = match &mut self.gzip {
                None => std::mem::take(&mut self.pending),
                Some(gzip) => {
                    let slice = self.pending.split_to(SLICE_BYTES.min(self.pending.len()));
                    gzip.write_all(&slice).map_err(|error| corrupt(&self.url, &error))?;
                    gzip.flush().map_err(|error| corrupt(&self.url, &error))?;
                    std::mem::take(gzip.get_mut()).into()
                }
            };
            self.count(decoded.len())?;
            if !decoded.is_empty() {
                return Ok(Some(decoded));
            }
        }
    }

    /// Returns the rest of the body.
    pub(crate) async fn rest(&mut self) -> Result<Vec<u8>, FetchError> {
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, FetchError> {
        let received = match self.wait.on(self.answer.chunk()).await {
            None => return Err(FetchError::Timeout { url: self.url.clone() }),
            Some(received) => received.map_err(|error| FetchError::Interrupted {
                url: self.url.clone(),
                reason: cause(&error),
            })?,
        };
        if let Some(bytes) = &received {
            self.traffic.took(bytes.len());
            self.travelled += bytes.len() as u64;
            if self.travelled > self.limit {
                return Err(self.too_large());
            }
        }
        Ok(received)
    }

    fn finish(&mut self) -> Result<Option<Bytes>, FetchError> {
        let Some(gzip) = &mut self.gzip else { return Ok(None) };
        gzip.try_finish().map_err(|error| corrupt(&self.url, &error))?;
        let rest: Bytes = std::mem::take(gzip.get_mut()).into();
        self.count(rest.len())?;
        Ok((!rest.is_empty()).then_some(rest))
    }

    fn count(&mut self, decoded: usize) -> Result<(), FetchError> {
        self.decoded += decoded as u64;
        if self.decoded > self.limit {
            return Err(self.too_large());
        }
        Ok(())
    }

    fn too_large(&self) -> FetchError {
        FetchError::TooLarge { url: self.url.clone(), limit: self.limit }
    }
}

/// Returns the decoder of a compressed body, or an unknown coding as an error.
fn decoder(head: &Head) -> Result<Option<MultiGzDecoder<Vec<u8>>>, String> {
    match head.text(CONTENT_ENCODING).map(|coding| coding.trim().to_ascii_lowercase()).as_deref() {
        None | Some("" | "identity") => Ok(None),
        Some("gzip" | "x-gzip") => Ok(Some(MultiGzDecoder::new(Vec::new()))),
        Some(coding) => Err(coding.to_owned()),
    }
}

fn corrupt(url: &str, error: &std::io::Error) -> FetchError {
    FetchError::Encoding {
        url: url.to_owned(),
        reason: format!("the body is not valid gzip data: {error}"),
    }
}
