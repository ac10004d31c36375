//! A hub gets its certificate from Pebble, the authority that Let's Encrypt has for tests.
//!
//! Pebble asks a name server of its own, which leads every name to this machine, and connects to the port of the hub for
//! its check. It sometimes refuses a valid nonce, as the protocol allows.

mod support;

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use support::{TestDirectory, certificates, has, lacks, output, until};

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// An authority that checks names at a port of this machine.
struct Authority {
    _processes: [Running; 2],
    management: u16,
    directory: u16,
}

impl Authority {
    /// Starts it in a directory that has a certificate for `localhost`; `None` if it is not installed.
    fn start(place: &TestDirectory, checked_port: u16) -> Option<Self> {
        if !has("openssl") || !has("pebble") || !has("pebble-challtestsrv") {
            return None;
        }
        certificates::certify_localhost(place);
        let [directory, management, names] = [free_port(), free_port(), free_port()];
        let config = json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{directory}"),
            "managementListenAddress": format!("127.0.0.1:{management}"),
            "certificate": place.path("localhost.pem"),
            "privateKey": place.path("localhost.key"),
            "httpPort": 1,
            "tlsPort": checked_port,
        } });
        place.write("pebble.json", &config.to_string());
        let mut server = Command::new("pebble-challtestsrv");
        server.args(["-defaultIPv6", "", "-dns01", &format!("127.0.0.1:{names}")]);
        server.args(["-http01", "", "-https01", "", "-tlsalpn01", "", "-management"]);
        server.arg(format!("127.0.0.1:{}", free_port()));
        let mut pebble = Command::new("pebble");
        pebble.arg("-config").arg(place.path("pebble.json"));
        pebble.args(["-dnsserver", &format!("127.0.0.1:{names}")]).env("PEBBLE_VA_NOSLEEP", "1");
        let processes = [server, pebble].map(|mut command| {
            Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
        });
        let authority = Self { _processes: processes, management, directory };
        until("the authority", || {
            let root = authority.get(place, "roots/0");
            root.ok_or_else(|| "it does not answer yet".to_owned())
        });
        Some(authority)
    }

    /// A document of its management interface.
    fn get(&self, place: &TestDirectory, path: &str) -> Option<String> {
        let url = format!("https://localhost:{}/{path}", self.management);
        let mut curl = Command::new("curl");
        curl.args(["-sSf", "--cacert"]).arg(place.path("ca.pem")).arg(url);
        let output = curl.output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    fn url(&self) -> String {
        format!("https://localhost:{}/dir", self.directory)
    }
}

/// Starts a hub that gets a certificate for these names.
fn hub(place: &TestDirectory, port: u16, authority: &Authority, names: &str) -> Running {
    let listen = format!("127.0.0.1:{port}");
    let arguments = ["--data", "hub", "serve", "--listen", &listen, "--tls-acme-names", names];
    let mut command = place.command(&arguments);
    command.args(["--tls-acme-contact", "anna@example.org", "--tls-acme-directory"]);
    command.arg(authority.url()).env("SSL_CERT_FILE", place.path("ca.pem"));
    let log = std::fs::File::create(place.path("hub.log")).unwrap();
    Running(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

/// Requests the hub under a name, and returns the serial number of its certificate.
fn serial(place: &TestDirectory, port: u16, name: &str) -> Result<String, String> {
    let (url, to) = (format!("https://{name}:{port}/healthz"), format!("{name}:{port}:127.0.0.1"));
    let mut curl = Command::new("curl");
    curl.args(["-sSf", "--cacert"]).arg(place.path("root.pem"));
    curl.args(["--resolve", &to, "--write-out", "%{certs}", &url]);
    let output = curl.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        return Err(format!("{error}{}", place.read("hub.log")));
    }
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = told.lines().find_map(|line| line.strip_prefix("Serial Number:"));
    line.map(str::to_owned).ok_or(told)
}

#[test]
fn a_hub_gets_and_keeps_a_certificate_of_an_authority() {
    if !has("curl") {
        lacks("curl");
        return;
    }
    let place = TestDirectory::new();
    let port = free_port();
    let Some(authority) = Authority::start(&place, port) else { return };
    place.write("root.pem", &authority.get(&place, "roots/0").unwrap());
    place.bare("hub");
    let add = ["--data", "hub", "user", "add", "anna", "--administrator", "--password-stdin"];
    place.run_with(&add, "correct horse\n").success(&add);

    let (one, both) = ("hub.example.org", "hub.example.org,notes.example.org");
    let begun = Instant::now();
    let running = hub(&place, port, &authority, one);
    let first = until("the first certificate", || serial(&place, port, one));
    println!("the first certificate came after {:.1} s", begun.elapsed().as_secs_f64());
    assert!(serial(&place, port, "notes.example.org").is_err());
    #[cfg(unix)]
    for file in ["account.json", "certificate.pem"] {
        use std::os::unix::fs::PermissionsExt as _;
        let path = place.path(&format!("hub/acme/{file}"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file}");
    }
    // A check of a name that is not asked for gets no answer.
    let to = format!("127.0.0.1:{port}");
    let check = |name: &str| {
        let arguments = ["s_client", "-alpn", "acme-tls/1", "-servername", name, "-connect", &to];
        let run = Command::new("openssl").args(arguments).stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&run.stdout).contains("BEGIN CERTIFICATE")
    };
    assert!(!check(one) && !check("other.example.org"));
    drop(running);

    // It stays, with the account, at the next start, and another name needs another certificate.
    let account = place.read("hub/acme/account.json");
    let running = hub(&place, port, &authority, one);
    assert_eq!(until("the hub", || serial(&place, port, one)), first);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(serial(&place, port, one), Ok(first.clone()));
    drop(running);
    let running = hub(&place, port, &authority, both);
    let second = until("the second certificate", || serial(&place, port, "notes.example.org"));
    assert_ne!(second, first);
    assert_eq!(serial(&place, port, one), Ok(second));
    assert_eq!(place.read("hub/acme/account.json"), account);
    drop(running);
}

#[test]
fn a_hub_serves_nothing_while_an_authority_refuses() {
    let place = TestDirectory::new();
    let (port, elsewhere) = (free_port(), free_port());
    // The authority looks for the hub where nobody listens.
    let Some(authority) = Authority::start(&place, elsewhere) else { return };
    place.write("root.pem", &authority.get(&place, "roots/0").unwrap());
    place.bare("hub");
    let add = ["--data", "hub", "user", "add", "anna", "--administrator", "--password-stdin"];
    place.run_with(&add, "correct horse\n").success(&add);
    let running = hub(&place, port, &authority, "hub.example.org");
    until("the refusal", || {
        let log = place.read("hub.log");
        let is_refused = log.contains("no certificate from the authority")
            && log.contains(&format!("Failed to connect to 127.0.0.1:{elsewhere}"));
        if is_refused { Ok(()) } else { Err(log) }
    });
    assert!(serial(&place, port, "hub.example.org").is_err());
    let directory = place.path("hub/acme");
    assert_eq!(output("ls", &[directory.to_str().unwrap()], &directory), "account.json\n");
    drop(running);
}
