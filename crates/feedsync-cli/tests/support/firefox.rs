//! A headless Firefox that shows one page. It needs no driver: the server of the page observes the result.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::has;

/// A running browser, which is stopped when it is dropped.
pub(crate) struct Firefox(Child);

impl Firefox {
    /// Shows a page, with a new profile in a directory; `None` if the program is not installed.
    pub(crate) fn show(url: &str, profile: &Path) -> Option<Self> {
        let program = ["firefox-esr", "firefox"].into_iter().find(|program| has(program))?;
        std::fs::create_dir_all(profile).unwrap();
        // These settings disable requests to other servers.
        let settings = [
            "browser.shell.checkDefaultBrowser",
            "datareporting.policy.dataSubmissionEnabled",
            "toolkit.telemetry.reportingpolicy.firstRun",
            "app.normandy.enabled",
            "network.captive-portal-service.enabled",
            "network.connectivity-service.enabled",
            "browser.safebrowsing.downloads.enabled",
        ];
        let settings = settings.map(|name| format!("user_pref(\"{name}\", false);\n")).concat();
        std::fs::write(profile.join("user.js"), settings).unwrap();
        let child = Command::new(program)
            .args(["--headless", "--no-remote", "--new-instance", "--profile"])
            .arg(profile)
            .arg(url)
            .env("HOME", profile)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Some(Self(child))
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
