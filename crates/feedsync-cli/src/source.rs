//! Documents that a command names: a file, standard input, or an address.

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use feedsync_client::LoginFile;
use feedsync_client::fetch::{Fetcher, Logins, Policy, Private, address, shown_text, with_scheme};
use feedsync_core::Payload;
use feedsync_formats::{Limits, Mode, ReadOptions, read_item, with_charset};
use http::header::CONTENT_TYPE;

use crate::failure::Failure;
use crate::output::progress::Progress;

const ACCEPT: &str = "application/atom+xml, application/rss+xml, application/json;q=0.9, \
                      application/xml;q=0.9, text/xml;q=0.9, text/x-opml;q=0.9, */*;q=0.5";

/// A document and where it came from.
pub(crate) struct Source {
    /// As it was named; of an address, without credentials and query.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) bytes: Vec<u8>,
    /// The address it was fetched from, after redirects.
    address: Option<String>,
}

impl Source {
    /// Reads a file, `-` for standard input, or an `http` or `https` address.
    pub(crate) async fn load(name: &str, way: &Way) -> Result<Self, Failure> {
        if name.starts_with("http://") || name.starts_with("https://") {
            let shown = shown_text(name);
            let _progress = Progress::spinner(&format!("reading {shown}"));
            let response = way.fetcher()?.document(address(name)?, ACCEPT).await?;
            // It becomes the base of relative links in what is imported, so it must hold no secret.
            let address = shown_text(response.url().as_str());
            let named = response.header(CONTENT_TYPE);
            let bytes = with_charset(response.bytes().to_vec(), named, Mode::Tolerant);
            if bytes.trim_ascii().is_empty() {
                let status = response.status();
                return Err(Failure::network(format!(
                    "{shown} answered {status} without a document"
                ))
                .hint("is there a sign-in page in between?"));
            }
            return Ok(Self { name: shown, bytes, address: Some(address) });
        }
        // One byte more than is read, so that the reader says what is too large.
        let limit = Limits::default().bytes as u64 + 1;
        let mut bytes = Vec::new();
        let (name, read) = if name == "-" {
            ("standard input", std::io::stdin().lock().take(limit).read_to_end(&mut bytes))
        } else {
            let file = File::open(name).map_err(|error| {
                let failure = Failure::file(name, &error);
                match with_scheme(name).filter(|_| error.kind() == ErrorKind::NotFound) {
                    Some(meant) => failure.hint(format!("if it is an address: {meant}")),
                    None => failure,
                }
            })?;
            (name, file.take(limit).read_to_end(&mut bytes))
        };
        read.map_err(|error| Failure::file(name, &error))?;
        Ok(Self { name: name.to_owned(), bytes, address: None })
    }

    /// The only item in it.
    pub(crate) fn entry(&self) -> Result<Payload, Failure> {
        read_item(&self.bytes, &ReadOptions { mode: Mode::Strict, ..self.plain() })
            .map_err(|error| Failure::document(&self.name, &error))
    }

    /// How to read entries of a plain feed: relative references in them are relative to the address.
    pub(crate) fn plain(&self) -> ReadOptions<'_> {
        ReadOptions { base: self.address.as_deref(), ..ReadOptions::tolerant() }
    }
}

/// The way out, for what a person asks on their own command line.
pub(crate) struct Way {
    /// Where their logins are kept, if anywhere.
    logins: Option<PathBuf>,
}

impl Way {
    /// With the logins of a data directory.
    pub(crate) fn new(data: Option<PathBuf>) -> Self {
        Self { logins: data }
    }

    /// What fetches.
    pub(crate) fn fetcher(&self) -> Result<Fetcher, Failure> {
        let logins = match &self.logins {
            Some(directory) => LoginFile::within(directory).read()?,
            None => Logins::default(),
        };
        Ok(Fetcher::new(Policy::new(Private::Allowed))?.signed_in(logins)?)
    }
}

/// Writes a document to a file, or to standard output where none is named.
pub(crate) fn write(file: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    let mut target = Target::open(file)?;
    target.write(bytes)?;
    target.finish()
}

/// Where a document goes, piece by piece.
pub(crate) enum Target {
    /// Standard output.
    Standard,
    /// A file, which appears whole or not at all: it may be one of those that were read.
    File {
        /// Where it is going to be.
        path: PathBuf,
        /// Where it is until then.
        whole: tempfile::NamedTempFile,
    },
}

impl Target {
    /// A file, or standard output where none is named.
    pub(crate) fn open(file: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = file else { return Ok(Self::Standard) };
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let whole =
            tempfile::NamedTempFile::new_in(directory).map_err(|error| failed(path, &error))?;
        Ok(Self::File { path: path.to_owned(), whole })
    }

    /// Writes the next piece.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Standard => crate::output::print_bytes(bytes),
            Self::File { path, whole } => {
                whole.write_all(bytes).map_err(|error| failed(path, &error))
            }
        }
    }

    /// The document is complete.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.finish_as(Existing::Replaced)
    }

    /// The same of a document that is new. An error if there is a file of that name by now.
    pub(crate) fn finish_new(self) -> Result<(), Failure> {
        self.finish_as(Existing::Kept)
    }

    fn finish_as(self, existing: Existing) -> Result<(), Failure> {
        let Self::File { path, whole } = self else { return Ok(()) };
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode =
                std::fs::metadata(&path).map_or(0o644, |metadata| metadata.permissions().mode());
            let permissions = std::fs::Permissions::from_mode(mode);
            whole.as_file().set_permissions(permissions).map_err(|error| failed(&path, &error))?;
        }
        // Otherwise a power cut could leave an empty file under the name.
        whole.as_file().sync_all().map_err(|error| failed(&path, &error))?;
        let persisted = match existing {
            Existing::Replaced => whole.persist(&path),
            Existing::Kept => whole.persist_noclobber(&path),
        };
        persisted.map(drop).map_err(|error| failed(&path, &error.error))
    }
}

/// Treatment of a file that has the name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Replaced,
    Kept,
}

impl Target {
    /// Completes the document. A file that has the same bytes already keeps its date; returns whether it was replaced.
    pub(crate) fn finish_if_changed(self) -> Result<bool, Failure> {
        if let Self::File { path, whole } = &self
            && is_same(path, whole.path()).map_err(|error| failed(path, &error))?
        {
            return Ok(false);
        }
        self.finish()?;
        Ok(true)
    }
}

/// Whether two files have the same bytes; `false` if the first one does not exist.
fn is_same(path: &Path, other: &Path) -> std::io::Result<bool> {
    let mut files = match File::open(path) {
        Ok(file) => [BufReader::new(file), BufReader::new(File::open(other)?)],
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    loop {
        let [one, two] = &mut files;
        let (left, right) = (one.fill_buf()?, two.fill_buf()?);
        let length = left.len().min(right.len());
        if left[..length] != right[..length] || (length == 0 && left.len() != right.len()) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        one.consume(length);
        two.consume(length);
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file(&path.display().to_string(), error)
}
