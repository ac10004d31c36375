//! Media of published items, written as files.

use std::collections::BTreeMap;
use std::path::Path;

use feedsync_store::Digest;

use crate::context::OpenEndpoint;
use crate::failure::{Failure, warn};
use crate::source::Target;

/// Writes the media files that do not exist yet. A file is named by the digest of its content, so it never
/// changes.
pub(crate) async fn write_media(
    home: &OpenEndpoint,
    directory: &Path,
    media: &BTreeMap<String, Digest>,
) -> Result<(), Failure> {
    if !media.is_empty() {
        std::fs::create_dir_all(directory)
            .map_err(|error| Failure::file(&directory.display().to_string(), &error))?;
    }
    for (name, digest) in media {
        let path = directory.join(name);
        if path.exists() {
            continue;
        }
        match home.store.blob(*digest).await? {
            Some(bytes) => {
                let mut target = Target::open(Some(&path))?;
                target.write(&bytes)?;
                target.finish()?;
            }
            None => warn(&format!("{digest}: the media are not here")),
        }
    }
    Ok(())
}
