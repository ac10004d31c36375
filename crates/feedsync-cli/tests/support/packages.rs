//! Packages of Python and Node from their registries, which are installed once for all runs of the tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{has, lacks};

/// Python of a virtual environment with these packages; `None` if they cannot be installed. Each is given as `NAME==VERSION`.
pub(crate) fn python(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let directory = directory(name);
    let python = directory.join("bin/python");
    let expected = packages.join("\n");
    if is_complete(&directory, &expected) {
        return Some(python);
    }
    if !has("python3") {
        return None;
    }
    let mut venv = Command::new("python3");
    if !succeeds(venv.args(["-m", "venv", "--clear"]).arg(&directory)) {
        lacks("python3-venv");
        return None;
    }
    if !succeeds(pip(&python).arg("install").args(packages)) {
        lacks(&expected);
        return None;
    }
    std::fs::write(directory.join("complete"), expected).unwrap();
    Some(python)
}

/// Directory with the files of a source package, `NAME==VERSION`; `None` if it cannot be downloaded.
pub(crate) fn python_source(python: &Path, package: &str) -> Option<PathBuf> {
    let directory = directory(&format!("{package} (source)"));
    let source = directory.join(package.replace("==", "-"));
    if is_complete(&directory, package) {
        return Some(source);
    }
    let mut download = pip(python);
    download.args(["download", "--no-deps", "--no-binary", ":all:", package, "--dest"]);
    if !succeeds(download.arg(&directory)) {
        lacks(package);
        return None;
    }
    let archive = directory.join(format!("{}.tar.gz", package.replace("==", "-")));
    let mut unpack = Command::new(python);
    unpack.args(["-m", "tarfile", "--extract"]).arg(archive).arg(&directory);
    assert!(succeeds(&mut unpack), "{package} is not an archive");
    std::fs::write(directory.join("complete"), package).unwrap();
    Some(source)
}

/// Directory with the packages that a `package.json` names; `None` if they cannot be installed.
pub(crate) fn node(name: &str, manifest: &Path) -> Option<PathBuf> {
    let directory = directory(name);
    let expected = std::fs::read_to_string(manifest).unwrap();
    if !(has("node") && has("npm")) {
        return None;
    }
    if is_complete(&directory, &expected) {
        return Some(directory);
    }
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("package.json"), &expected).unwrap();
    let mut npm = Command::new("npm");
    // No script of a package has to run.
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"]);
    if !succeeds(npm.current_dir(&directory)) {
        lacks(name);
        return None;
    }
    std::fs::write(directory.join("complete"), expected).unwrap();
    Some(directory)
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn is_complete(directory: &Path, expected: &str) -> bool {
    std::fs::read_to_string(directory.join("complete")).is_ok_and(|found| found == expected)
}

fn pip(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    pip
}

/// Runs a program; prints its errors if it fails.
fn succeeds(command: &mut Command) -> bool {
    let Output { status, stderr, .. } = command.output().unwrap();
    if !status.success() {
        eprintln!("{}", String::from_utf8_lossy(&stderr));
    }
    status.success()
}
