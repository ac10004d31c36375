//! Python with the package `requests` of PyPI, an independent HTTP client.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::support::{has, lacks};

/// The package and its version.
const PACKAGE: &str = "requests==2.34.2";

/// Python of a virtual environment with the package; `None` if it cannot be installed.
pub(crate) fn with_requests() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    PYTHON.get_or_init(installed).as_deref()
}

fn installed() -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(PACKAGE);
    let (python, complete) = (directory.join("bin/python"), directory.join("complete"));
    if complete.exists() {
        return Some(python);
    }
    if !has("python3") {
        return None;
    }
    let venv = |program: &str| {
        Command::new(program).args(["-m", "venv", "--clear"]).arg(&directory).output()
    };
    if !succeeded(&venv("python3").unwrap()) {
        lacks("python3-venv");
        return None;
    }
    let pip = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install", PACKAGE];
    if !succeeded(&Command::new(&python).args(pip).output().unwrap()) {
        lacks(PACKAGE);
        return None;
    }
    std::fs::write(complete, "").unwrap();
    Some(python)
}

/// Whether a program succeeded; prints its output otherwise.
fn succeeded(output: &Output) -> bool {
    let is_success = output.status.success();
    if !is_success {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    }
    is_success
}
