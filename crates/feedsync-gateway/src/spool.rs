//! The body of a request, kept until it can be sent, once or again.
//!
//! A small one stays in memory; a larger one goes into a file without a name as it comes, which is gone
//! with the process. Its digest is taken on the way.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use feedsync_server::Unnamed;
use feedsync_store::Digest;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;

use crate::face::{Body, BodyError};

/// What is kept in memory.
const MEMORY: usize = 64 << 10;

/// A body that has come whole. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Spool {
    digest: Digest,
    length: u64,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Memory(Bytes),
    File(Arc<File>),
}

/// Why a body was not kept.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// It is larger than it may be.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// What it may be.
        limit: u64,
    },
    /// It did not come whole.
    #[error("the body has broken off: {0}")]
    Body(#[from] BodyError),
    /// It cannot be written.
    #[error("the body cannot be kept: {0}")]
    File(#[from] io::Error),
}

impl Spool {
    /// Reads a body to its end, if it is no larger than `limit`. Of a larger one no more is read than shows
    /// it; what it says of itself is believed.
    pub async fn read(mut body: Body, limit: u64, directory: &Path) -> Result<Self, SpoolError> {
        if body.size_hint().lower() > limit {
            return Err(SpoolError::TooLarge { limit });
        }
        let mut memory = BytesMut::new();
        let mut length = 0;
        let mut file: Option<Unnamed> = None;
        while let Some(frame) = body.frame().await {
            let Ok(bytes) = frame?.into_data() else { continue };
            length += bytes.len() as u64;
            if length > limit {
                return Err(SpoolError::TooLarge { limit });
            }
            match &mut file {
                Some(file) => file.take(&bytes).await?,
                None if memory.len() + bytes.len() <= MEMORY => memory.extend_from_slice(&bytes),
                None => {
                    let mut begun = Unnamed::begin(directory.to_owned()).await?;
                    begun.take(&memory).await?;
                    begun.take(&bytes).await?;
                    memory = BytesMut::new();
                    file = Some(begun);
                }
            }
        }
        let Some(file) = file else {
            let memory = memory.freeze();
            let digest = Digest::of(&memory);
            return Ok(Self { digest, length, content: Content::Memory(memory) });
        };
        let (file, digest, length) = file.end().await?;
        Ok(Self { digest, length, content: Content::File(Arc::new(file)) })
    }

    /// The SHA-256 of its bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The body, from its beginning; any number of times.
    pub fn body(&self) -> Body {
        match &self.content {
            Content::Memory(bytes) => Body::from(bytes.clone()),
            Content::File(file) => Body::file(Arc::clone(file), 0..self.length),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;
    use crate::face::Paced;

    /// A body that comes in parts, of a length that it does not tell.
    fn coming(bytes: &[u8]) -> Body {
        let parts: Vec<_> = bytes
            .chunks(10_000)
            .map(|part| Ok::<_, io::Error>(Frame::data(Bytes::copy_from_slice(part))))
            .collect();
        Body::new(Paced::new(StreamBody::new(futures_util::stream::iter(parts)), DEADLINE))
    }

    const DEADLINE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_body_can_be_sent_again_and_again() {
        let directory = tempfile::tempdir().unwrap();
        for length in [0, 1, MEMORY - 1, MEMORY, MEMORY + 1, 1_000_000] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 253) as u8).collect();
            let spool = Spool::read(coming(&bytes), length as u64, directory.path()).await.unwrap();
            assert_eq!(spool.length(), length as u64);
            assert_eq!(spool.digest(), Digest::of(&bytes));
            assert_eq!(matches!(spool.content, Content::File(_)), length > MEMORY);
            let (one, other) = tokio::join!(spool.body().collect(), spool.body().collect());
            assert_eq!(one.unwrap().to_bytes(), bytes);
            assert_eq!(other.unwrap().to_bytes(), bytes);
            assert_eq!(spool.body().size_hint().exact(), Some(length as u64));
        }
        // Nothing has a name.
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_body_that_is_too_large_is_not_kept() {
        let directory = tempfile::tempdir().unwrap();
        for length in [101, 200_000] {
            let refused = Spool::read(coming(&vec![0; length]), 100, directory.path()).await;
            assert!(matches!(refused, Err(SpoolError::TooLarge { limit: 100 })));
        }
        let told = Body::from(Bytes::from(vec![0; 101]));
        let refused = Spool::read(told, 100, directory.path()).await;
        assert!(matches!(refused, Err(SpoolError::TooLarge { .. })));
    }

    #[tokio::test]
    async fn half_a_body_is_none_and_a_full_disk_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let parts = vec![
            Ok(Frame::data(Bytes::from_static(b"half"))),
            Err(io::Error::from(io::ErrorKind::ConnectionReset)),
        ];
        let broken = StreamBody::new(futures_util::stream::iter(parts));
        let broken = Body::new(Paced::new(broken, DEADLINE));
        let refused = Spool::read(broken, 100, directory.path()).await;
        assert!(matches!(refused, Err(SpoolError::Body(_))));
        let nowhere = directory.path().join("nowhere");
        let large = vec![0; MEMORY + 1];
        let refused = Spool::read(coming(&large), 1 << 20, &nowhere).await;
        assert!(matches!(refused, Err(SpoolError::File(_))));
    }
}
