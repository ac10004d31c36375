//! A hub with a collection of entries and pictures, with or without a user, which is killed and restarted.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use super::application::{Application, Route};
use super::listing::{Member, members};
use crate::support::TestDirectory;

/// Credentials of the user, for curl and as a header value.
pub(crate) const LOGIN: &str = "anna:correct horse";
pub(crate) const AUTHORIZATION: &str = "Basic YW5uYTpjb3JyZWN0IGhvcnNl";

pub(crate) struct Hub<'p> {
    place: &'p TestDirectory,
    child: Option<Child>,
    address: String,
    login: Option<&'static str>,
}

impl<'p> Hub<'p> {
    pub(crate) fn start(place: &'p TestDirectory) -> Self {
        let run = |arguments: &[&str]| {
            let (_, password) = LOGIN.split_once(':').unwrap();
            let run = place.run_with(&[&["--data", "hub"], arguments].concat(), password);
            assert_eq!(run.code, 0, "{}", run.err);
        };
        run(&["store", "init", "--endpoint", "hub"]);
        run(&["user", "add", "anna", "--administrator", "--password-stdin"]);
        Self::with(place, Some(LOGIN))
    }

    /// Starts a hub with the default configuration: every user of this machine may do everything.
    pub(crate) fn without_user(place: &'p TestDirectory) -> Self {
        Self::with(place, None)
    }

    fn with(place: &'p TestDirectory, login: Option<&'static str>) -> Self {
        let mut hub = Self { place, child: None, address: "127.0.0.1:0".to_owned(), login };
        hub.wake();
        let accept = br#"{"accept": ["image/*", "application/atom+xml;type=entry"]}"#;
        let kind = "Content-Type: application/json";
        let made = hub.application().ask("PUT", &hub.notes(), &[kind], Some(accept)).unwrap();
        assert_eq!(made.status, 201, "{}", made.text());
        hub
    }

    /// Starts the hub again, at the same address.
    pub(crate) fn wake(&mut self) {
        assert!(self.child.is_none());
        let arguments = ["--data", "hub", "serve", "--listen", &self.address];
        let mut child = self.place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        self.address = lines
            .map_while(Result::ok)
            .find_map(|line| {
                let address = line.strip_prefix("listening on http://")?;
                Some(address.trim_end_matches('/').to_owned())
            })
            .expect("the hub says where it listens");
        self.child = Some(child);
    }

    /// Kills the process.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("a hub that runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn is_here(&self) -> bool {
        self.child.is_some()
    }

    pub(crate) fn authority(&self) -> &str {
        &self.address
    }

    pub(crate) fn notes(&self) -> String {
        format!("http://{}/collections/notes", self.address)
    }

    /// An application that connects to the hub directly, signed in if the hub has a user.
    pub(crate) fn application(&self) -> Application {
        Application::new(Route::Direct, self.login)
    }

    /// Members of the collection at the hub.
    pub(crate) fn members(&self) -> Vec<Member> {
        members(&self.application().get(&self.notes()))
    }
}

impl Drop for Hub<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
