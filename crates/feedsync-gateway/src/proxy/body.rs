//! Message bodies: bytes in memory, a part of a file, or a stream.

use std::error::Error;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

/// Size of a read from a file, in bytes.
const READ_BYTES: u64 = 64 << 10;

/// A message body. An error while it is sent breaks the message off, so that it never appears complete.
pub struct Body(UnsyncBoxBody<Bytes, BodyError>);

/// Error of a body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The sender was silent for too long.
    #[error("no data was received for {0} seconds")]
    Silent(u64),
    /// The source broke off.
    #[error("{0}")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
    /// A file cannot be read.
    #[error("cannot read a stored file: {0}")]
    File(#[from] io::Error),
}

impl Body {
    /// Wraps a body of any kind.
    pub fn new(body: impl HttpBody<Data = Bytes, Error = BodyError> + Send + 'static) -> Self {
        Self(body.boxed_unsync())
    }

    /// Creates an empty body.
    pub fn empty() -> Self {
        Self::new(Empty::new().map_err(|never| match never {}))
    }

    /// Body that is read from a part of a file while it is sent.
    pub fn file(file: Arc<File>, part: Range<u64>) -> Self {
        Self::new(Part { file, left: part, reading: None })
    }

    /// Creates a body that never yields anything.
    pub(crate) fn never() -> Self {
        Self::new(Never)
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::new(Full::new(bytes).map_err(|never| match never {}))
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::empty()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").field("size", &self.0.size_hint()).finish()
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

struct Never;

impl HttpBody for Never {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Poll::Pending
    }
}

/// A part of a file. Several bodies may read one file, since each has its own offset.
struct Part {
    file: Arc<File>,
    left: Range<u64>,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl HttpBody for Part {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let (file, from) = (Arc::clone(&self.file), self.left.start);
        let length = (self.left.end - from).min(READ_BYTES);
        let reading = self
            .reading
            .get_or_insert_with(|| spawn_blocking(move || read_at(&file, from, length)));
        let read = ready!(Pin::new(reading).poll(context));
        self.reading = None;
        Poll::Ready(Some(match read.map_err(io::Error::other).flatten() {
            Ok(bytes) => {
                self.left.start += bytes.len() as u64;
                Ok(Frame::data(bytes.into()))
            }
            Err(error) => {
                self.left = 0..0;
                Err(error.into())
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.end.saturating_sub(self.left.start))
    }
}

/// Reads bytes at an offset. Fewer bytes are an error, since the length was announced.
fn read_at(file: &File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    // At most `READ_BYTES` bytes.
    let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
    #[cfg(unix)]
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, from)?;
    #[cfg(windows)]
    {
        let mut read = 0;
        while read < bytes.len() {
            let at = from + read as u64;
            match std::os::windows::fs::FileExt::seek_read(file, &mut bytes[read..], at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => read += more,
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[tokio::test]
    async fn parts_of_one_file_are_read_independently() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        let file = Arc::new(file);
        let whole = Body::file(Arc::clone(&file), 0..200_000);
        assert_eq!(whole.size_hint().exact(), Some(200_000));
        let part = Body::file(Arc::clone(&file), 100_000..100_010);
        let (whole, part) = tokio::join!(whole.collect(), part.collect());
        assert_eq!(whole.unwrap().to_bytes(), bytes);
        assert_eq!(part.unwrap().to_bytes(), &bytes[100_000..100_010]);
        assert!(Body::file(Arc::clone(&file), 5..5).is_end_stream());
        // The announced length exceeds the file.
        assert!(matches!(Body::file(file, 0..200_001).collect().await, Err(BodyError::File(_))));
    }
}
