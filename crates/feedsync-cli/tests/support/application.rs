//! curl as an independent application that supports HTTP and AtomPub.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Connection of an application to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// A direct connection.
    Direct,
    /// The gateway at this address, in reverse mode.
    Reverse(String),
    /// The gateway at this address, as a proxy.
    Proxy(String),
}

#[derive(Debug, Clone)]
pub(crate) struct Application {
    way: Route,
    /// Credentials, as `NAME:PASSWORD`.
    login: Option<String>,
    /// The only certificate authority that it trusts.
    authority: Option<PathBuf>,
}

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let field = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        field.map(|(_, value)| &**value)
    }

    pub(crate) fn location(&self) -> String {
        let text = || String::from_utf8_lossy(&self.body);
        self.header("location").unwrap_or_else(|| panic!("no Location: {}", text())).to_owned()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            status: status.expect("a status"),
            headers: headers.collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }
}

impl Application {
    pub(crate) fn direct() -> Self {
        Self::new(Route::Direct, None)
    }

    pub(crate) fn new(way: Route, login: Option<&str>) -> Self {
        Self { way, login: login.map(ToOwned::to_owned), authority: None }
    }

    /// The same application, which trusts the certificate authority of this file and no other.
    pub(crate) fn trusting(self, authority: &Path) -> Self {
        Self { authority: Some(authority.to_owned()), ..self }
    }

    /// Address at which this application reaches a resource of the server.
    pub(crate) fn at(&self, url: &str) -> String {
        match &self.way {
            Route::Reverse(gateway) => match url.strip_prefix("http://") {
                Some(rest) if !rest.starts_with(gateway) => format!("http://{gateway}/http/{rest}"),
                _ => url.to_owned(),
            },
            Route::Direct | Route::Proxy(_) => url.to_owned(),
        }
    }

    /// Sends a request for a resource of the server; `None` if the response is missing or incomplete.
    pub(crate) fn ask(
        &self,
        method: &str,
        url: &str,
        headers: &[&str],
        body: Option<&[u8]>,
    ) -> Option<Answer> {
        let mut curl = Command::new("curl");
        for name in [
            "http_proxy",
            "HTTP_PROXY",
            "https_proxy",
            "HTTPS_PROXY",
            "all_proxy",
            "ALL_PROXY",
            "no_proxy",
            "NO_PROXY",
        ] {
            curl.env_remove(name);
        }
        curl.args(["-q", "-s", "-i", "--max-time", "20", "-X", method, "-H", "Expect:"]);
        if let Route::Proxy(gateway) = &self.way {
            curl.args(["--suppress-connect-headers", "--proxy", &format!("http://{gateway}")]);
        }
        if let Some(authority) = &self.authority {
            curl.arg("--cacert").arg(authority);
        }
        curl.args(self.login.iter().flat_map(|login| ["-u", login]));
        curl.args(headers.iter().flat_map(|header| ["-H", header]));
        if body.is_some() {
            curl.args(["--data-binary", "@-"]);
        }
        curl.arg(self.at(url)).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = curl.spawn().unwrap();
        // curl may exit before it has read the whole body.
        let _ = child.stdin.take().unwrap().write_all(body.unwrap_or_default());
        let output = child.wait_with_output().unwrap();
        output.status.success().then(|| Answer::read(&output.stdout))
    }

    pub(crate) fn get(&self, url: &str) -> Answer {
        self.ask("GET", url, &[], None).expect("an answer")
    }

    pub(crate) fn delete(&self, url: &str) -> Answer {
        self.ask("DELETE", url, &[], None).expect("an answer")
    }

    pub(crate) fn post(&self, url: &str, entry: &str) -> Answer {
        self.ask("POST", url, &[ENTRY], Some(entry.as_bytes())).expect("an answer")
    }

    pub(crate) fn put(&self, url: &str, entry: &str) -> Answer {
        self.ask("PUT", url, &[ENTRY], Some(entry.as_bytes())).expect("an answer")
    }
}

pub(crate) const ENTRY: &str = "Content-Type: application/atom+xml;type=entry";

/// Entry to be sent.
pub(crate) fn entry(title: &str) -> String {
    format!(
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>{title}</title>\
         <content>What {title} says</content></entry>"
    )
}
