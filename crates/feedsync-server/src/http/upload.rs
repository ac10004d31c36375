//! Uploads of media and blobs (RFC 5023 9.6, AP56).
//!
//! An upload is written into an unnamed file as it arrives, and its digest is computed meanwhile.
//! However slowly it arrives, it takes no memory, and an aborted one leaves nothing, even when the
//! process is killed. It is in memory while it is stored, of which at most [`MAX_STORING_UPLOADS`](crate::hub::MAX_STORING_UPLOADS) run at once.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use axum::body::Body;
use feedsync_store::Digest;
use http::{HeaderValue, StatusCode, header};
use tokio::task::spawn_blocking;

use crate::access::call::Call;
use crate::access::quotas;
use crate::http::body::{self, BodyPermit, Coding, Frames};
use crate::http::clients::Key;
use crate::http::permits;
use crate::http::problem::Problem;
use crate::http::temp_file::TempFile;
use crate::hub::Hub;

/// A complete upload. Dropping it leaves nothing.
pub(crate) struct Upload {
    file: File,
    digest: Digest,
    length: u64,
    _permit: BodyPermit,
}

impl Upload {
    /// Receives the body of a request, within the limits of the hub and of the client.
    pub(crate) async fn receive(hub: &Hub, call: &Call, body: Body) -> Result<Self, Problem> {
        if body::coding(&call.headers)? != Coding::Identity {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-coding",
                "Unsupported Content-Encoding",
                "media and blobs must be sent without a Content-Encoding",
            )
            .header(header::ACCEPT_ENCODING, HeaderValue::from_static("identity")));
        }
        let sender = quotas::bounded(&call.principal).map(|user| Key::Person(user.as_str().into()));
        let mut frames = Frames::of(hub, &call.headers, body, hub.config.limits.blob_bytes)?;
        if let Some(sender) = &sender {
            hub.clients.may_upload(sender.clone(), body::declared(&call.headers).unwrap_or(1))?;
        }
        let permit = body::acquire_permit(hub, &hub.receiving).await?;
        // The directory of the store, if there is one: other temporary files may be stored in memory.
        let beside = hub.endpoint.directory().map(Path::to_owned);
        let place = beside.unwrap_or_else(std::env::temp_dir);
        let mut written = done(TempFile::begin(place).await)?;
        while let Some(frame) = frames.next().await? {
            done(written.take(&frame).await)?;
        }
        let (file, digest, length) = done(written.end().await)?;
        if let Some(sender) = sender {
            hub.clients.uploaded(sender, length)?;
        }
        call.recheck_if_slow(hub).await?;
        Ok(Self { file, digest, length, _permit: permit })
    }

    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Stores it under its digest.
    pub(crate) async fn store(self, hub: &Hub) -> Result<(), Problem> {
        let _held =
            permits::acquire(&hub.storing, "too many uploads are in progress; try again later")
                .await?;
        let Self { mut file, length, .. } = self;
        // It is allocated on this thread: each of the many blocking threads would retain as much
        // memory for itself.
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        let read = spawn_blocking(move || {
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
            io::Result::Ok(bytes)
        });
        let bytes = done(read.await.map_err(io::Error::other).flatten())?;
        hub.endpoint.put_blob(bytes).await?;
        Ok(())
    }
}

/// Result of a file operation. The log contains the reason of a failure.
fn done<T>(result: io::Result<T>) -> Result<T, Problem> {
    result.map_err(|error| {
        tracing::error!(%error, "cannot write an upload to a temporary file");
        Problem::unavailable("the hub cannot store uploads at the moment; try again later")
    })
}
