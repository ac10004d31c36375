//! A log in a file, as a web server serves it: it can only be read.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use async_trait::async_trait;
use feedsync_log::{LogRequest, LogResponse, Range, Read};

use super::{LogAccess, LogError};
use crate::atomic_file::beside;

/// A file of records.
#[derive(Debug, Clone)]
pub struct FileLog {
    path: PathBuf,
}

impl FileLog {
    /// Creates a log that reads this file.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    fn read(&self, read: &Read) -> std::io::Result<LogResponse> {
        let mut file = File::open(&self.path)?;
        let length = file.metadata()?.len();
        let (start, end) = match read.range {
            Range::From { offset, most } => (offset, offset.saturating_add(most).min(length)),
            Range::Last(most) => (length.saturating_sub(most), length),
        };
        if start >= end {
            let content_range = Some(format!("bytes */{length}"));
            return Ok(LogResponse {
                status: 416,
                content_range,
                ended: true,
                ..LogResponse::default()
            });
        }
        file.seek(SeekFrom::Start(start))?;
        let mut body = Vec::new();
        file.take(end - start).read_to_end(&mut body)?;
        Ok(LogResponse {
            status: 206,
            content_range: Some(format!("bytes {start}-{}/{length}", end - 1)),
            body,
            ended: true,
            ..LogResponse::default()
        })
    }
}

#[async_trait]
impl LogAccess for FileLog {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    async fn ask(&self, ask: &LogRequest) -> Result<LogResponse, LogError> {
        match ask {
            LogRequest::Read(read) => {
                let (log, read) = (self.clone(), read.clone());
                let reading = tokio::task::spawn_blocking(move || log.read(&read));
                let answer =
                    reading.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
                answer.map_err(|source| LogError::File { path: self.path.clone(), source })
            }
            LogRequest::Snapshot => {
                // The snapshot is in a file beside the log, as a web server serves both (LR44).
                let path = beside(&self.path, ".snapshot");
                match tokio::fs::read(&path).await {
                    Ok(body) => Ok(LogResponse { body, ..refused(200) }),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(refused(404)),
                    Err(source) => Err(LogError::File { path, source }),
                }
            }
            LogRequest::Append(_) => Ok(refused(405)),
        }
    }

    async fn put_snapshot(&self, _: &str, _: Vec<u8>) -> Result<LogResponse, LogError> {
        Ok(refused(405))
    }

    async fn begin_generation(&self, _: &str, _: Vec<u8>) -> Result<LogResponse, LogError> {
        Ok(refused(405))
    }
}

fn refused(status: u16) -> LogResponse {
    LogResponse { status, ended: true, ..LogResponse::default() }
}
