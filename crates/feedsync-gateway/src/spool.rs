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
