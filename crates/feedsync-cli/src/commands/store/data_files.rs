//! The files of a data directory that a backup holds beside the store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use feedsync_aggregator::SqliteLibrary;
use feedsync_client::{LoginFile, ReaderFile};
use feedsync_gateway::tls_interception::CertificateAuthority;
use feedsync_store::BackupFile;
use tempfile::NamedTempFile;

use crate::commands::serve::acme;
use crate::context::CONFIGURATION;
use crate::dropped;
use crate::failure::Failure;

/// Files of a data directory. Articles are a copy, since a hub writes to them.
#[derive(Debug)]
pub(super) struct DataFiles {
    /// The files, by their names in the backup.
    pub(super) files: Vec<BackupFile>,
    _articles: NamedTempFile,
}

impl DataFiles {
    /// Finds the files, and copies the articles to a file beside the backup.
    pub(super) fn collect(data: &Path, backup: &Path) -> Result<Self, Failure> {
        let parent = backup.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let articles = NamedTempFile::new_in(parent).map_err(|error| failed(parent, &error))?;
        let mut files = Vec::new();
        if SqliteLibrary::copy(data, articles.path()).map_err(Failure::store)? {
            let (name, content) = (SqliteLibrary::FILE.to_owned(), articles.path().to_owned());
            files.push(BackupFile { name, content });
        }
        for name in [CONFIGURATION, LoginFile::NAME, ReaderFile::NAME] {
            let content = data.join(name);
            if content.is_file() {
                files.push(BackupFile { name: name.to_owned(), content });
            }
        }
        let directories = [
            CertificateAuthority::directory(data),
            acme::directory(data),
            dropped::directory(data),
        ];
        for directory in directories {
            add_below(data, &directory, &mut files)?;
        }
        Ok(Self { files, _articles: articles })
    }
}

/// Adds all files below a directory, if it exists, in the order of their names.
fn add_below(data: &Path, directory: &Path, files: &mut Vec<BackupFile>) -> Result<(), Failure> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(directory, &error)),
    };
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(|error: io::Error| failed(directory, &error))?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add_below(data, &path, files)?;
            continue;
        }
        let parts = path.strip_prefix(data).unwrap_or(&path).iter().map(|part| part.to_str());
        let name = parts.collect::<Option<Vec<_>>>().map(|parts| parts.join("/"));
        let name = name
            .ok_or_else(|| Failure::store(format!("{}: the name is not UTF-8", path.display())))?;
        files.push(BackupFile { name, content: path });
    }
    Ok(())
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::file(&path.display().to_string(), error)
}
