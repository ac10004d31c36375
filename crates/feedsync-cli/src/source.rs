//! Documents that a command reads or writes: a file, standard input or output, or an address.

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use feedsync_client::LoginFile;
use feedsync_core::Payload;
use feedsync_fetch::{Fetcher, Logins, Policy, Private, address, shown_text, with_scheme};
use feedsync_formats::{Limits, Mode, ReadOptions, read_item, with_charset};
use http::header::CONTENT_TYPE;

use crate::failure::Failure;
use crate::output::progress::Progress;

const ACCEPT: &str = "application/atom+xml, application/rss+xml, application/json;q=0.9, \
                      application/xml;q=0.9, text/xml;q=0.9, text/x-opml;q=0.9, */*;q=0.5";

/// A document and its origin.
pub(crate) struct Source {
    /// Name that the user gave; an address is shown without credentials and query.
    pub(crate) name: String,
    /// Content of the document.
    pub(crate) bytes: Vec<u8>,
    /// Address of the document after redirects.
    address: Option<String>,
}

impl Source {
    /// Reads a file, `-` for standard input, or an `http` or `https` address.
    pub(crate) async fn load(name: &str, way: &NetworkAccess) -> Result<Self, Failure> {
        if name.starts_with("http://") || name.starts_with("https://") {
            let shown = shown_text(name);
            let _progress = Progress::spinner(&format!("reading {shown}"));
            let response = way.fetcher()?.document(address(name)?, ACCEPT).await?;
            // This address becomes the base of relative links in imported items, so it must not contain a
            // secret.
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
        // One byte more than the limit is read, so that the parser reports a document that is too large.
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

    /// Reads the only item in the document.
    pub(crate) fn entry(&self) -> Result<Payload, Failure> {
        read_item(&self.bytes, &ReadOptions { mode: Mode::Strict, ..self.plain() })
            .map_err(|error| Failure::document(&self.name, &error))
    }

    /// Options for reading the entries of a plain feed: relative references are resolved against the address.
    pub(crate) fn plain(&self) -> ReadOptions<'_> {
        ReadOptions { base: self.address.as_deref(), ..ReadOptions::tolerant() }
    }
}

/// Access to the network for commands that the user runs.
pub(crate) struct NetworkAccess {
    /// Data directory with the logins, if there is one.
    logins: Option<PathBuf>,
}

impl NetworkAccess {
    /// Creates an access to the network with the logins of a data directory.
    pub(crate) fn new(data: Option<PathBuf>) -> Self {
        Self { logins: data }
    }

    /// Creates a fetcher. It may access private addresses, because the user named them.
    pub(crate) fn fetcher(&self) -> Result<Fetcher, Failure> {
        let logins = match &self.logins {
            Some(directory) => LoginFile::within(directory).read()?,
            None => Logins::default(),
        };
        Ok(Fetcher::new(Policy::new(Private::Allowed))?.with_logins(logins)?)
    }
}

/// Writes a document to a file, or to standard output if no file is named.
pub(crate) fn write(file: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    let mut target = Target::open(file)?;
    target.write(bytes)?;
    target.finish()
}

/// Destination of a document that is written in pieces.
pub(crate) enum Target {
    /// Standard output.
    Standard,
    /// A file, which appears as a whole or not at all. It may replace a file that the command has read.
    File {
        /// Final path of the file.
        path: PathBuf,
        /// Temporary file that holds the document until it is complete.
        whole: tempfile::NamedTempFile,
    },
}

impl Target {
    /// Opens a file, or standard output if no file is named.
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

    /// Completes the document; an existing file is replaced.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.finish_as(Existing::Replaced)
    }

    /// Completes a new document. Fails if a file of that name exists by now.
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
        // Without this, a power failure could leave an empty file under the name.
        whole.as_file().sync_all().map_err(|error| failed(&path, &error))?;
        let persisted = match existing {
            Existing::Replaced => whole.persist(&path),
            Existing::Kept => whole.persist_noclobber(&path),
        };
        persisted.map(drop).map_err(|error| failed(&path, &error.error))
    }
}

/// Treatment of an existing file of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Replaced,
    Kept,
}

impl Target {
    /// Completes the document. A file with the same bytes is not replaced, so that its date stays. Returns
    /// whether the file was replaced.
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
