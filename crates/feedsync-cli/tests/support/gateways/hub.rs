//! A hub with a collection of entries and pictures, with or without a user, which is killed and restarted.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use super::application::{Application, Route};
use super::listing::{Member, members};
use crate::support::TestDirectory;
use crate::support::certificates::certify_localhost;

/// Credentials of the user, for curl and as a header value.
pub(crate) const LOGIN: &str = "anna:correct horse";
pub(crate) const AUTHORIZATION: &str = "Basic YW5uYTpjb3JyZWN0IGhvcnNl";

pub(crate) struct Hub<'p> {
    place: &'p TestDirectory,
    child: Option<Child>,
    address: String,
    login: Option<&'static str>,
    /// Whether it has the certificate of [`certify_localhost`].
    is_encrypted: bool,
}

impl<'p> Hub<'p> {
    pub(crate) fn start(place: &'p TestDirectory) -> Self {
        Self::add_user(place);
        Self::with(place, Some(LOGIN), false)
    }

    /// Starts a hub that is reached over https, with a certificate of the authority in `ca.pem`.
    pub(crate) fn encrypted(place: &'p TestDirectory) -> Self {
        certify_localhost(place);
        Self::add_user(place);
        Self::with(place, Some(LOGIN), true)
    }

    fn add_user(place: &TestDirectory) {
        let run = |arguments: &[&str]| {
            let (_, password) = LOGIN.split_once(':').unwrap();
            let run = place.run_with(&[&["--data", "hub"], arguments].concat(), password);
            assert_eq!(run.code, 0, "{}", run.err);
        };
        run(&["store", "init", "--endpoint", "hub"]);
        run(&["user", "add", "anna", "--administrator", "--password-stdin"]);
    }

    /// Starts a hub with the default configuration: every user of this machine may do everything.
    pub(crate) fn without_user(place: &'p TestDirectory) -> Self {
        Self::with(place, None, false)
    }

    fn with(place: &'p TestDirectory, login: Option<&'static str>, is_encrypted: bool) -> Self {
        let address = "127.0.0.1:0".to_owned();
        let mut hub = Self { place, child: None, address, login, is_encrypted };
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
        let mut command = self.place.command(&arguments);
        if self.is_encrypted {
            command.args(["--tls-certificate", "localhost.pem", "--tls-key", "localhost.key"]);
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let begins = format!("listening on {}://", self.scheme());
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        self.address = lines
            .map_while(Result::ok)
            .find_map(|line| {
                let address = line.strip_prefix(&*begins)?;
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

    /// Host and port. A certificate is for a name.
    pub(crate) fn authority(&self) -> String {
        match self.is_encrypted {
            true => self.address.replace("127.0.0.1", "localhost"),
            false => self.address.clone(),
        }
    }

    fn scheme(&self) -> &'static str {
        if self.is_encrypted { "https" } else { "http" }
    }

    /// Address of the hub, without a path.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", self.scheme(), self.authority())
    }

    pub(crate) fn notes(&self) -> String {
        format!("{}/collections/notes", self.origin())
    }

    /// An application that connects to the hub directly, signed in if the hub has a user.
    pub(crate) fn application(&self) -> Application {
        let application = Application::new(Route::Direct, self.login);
        match self.is_encrypted {
            true => application.trusting(&self.place.path("ca.pem")),
            false => application,
        }
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
