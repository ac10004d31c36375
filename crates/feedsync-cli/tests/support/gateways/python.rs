//! Python with the package `requests` of PyPI, an independent HTTP client.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::support::packages;

/// The package and its version.
const PACKAGE: &str = "requests==2.34.2";

/// Python of a virtual environment with the package; `None` if it cannot be installed.
pub(crate) fn with_requests() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    PYTHON.get_or_init(|| packages::python(PACKAGE, &[PACKAGE])).as_deref()
}
