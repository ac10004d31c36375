//! A vault of notes from nothing to a second device, by what `serve --vault` and `vault link` print.

mod support;

#[path = "support/pouchdb.rs"]
mod pouchdb;

use std::io::Read as _;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Deserializer, Value, json};
use support::{Hub, TestDirectory, has, output, until};

/// A hub that was started with a vault, and what it printed.
struct VaultHub {
    child: Child,
    printed: Value,
}

impl VaultHub {
    /// Starts a hub with the vault `notes` in the directory `hub`.
    fn start(place: &TestDirectory, listen: &str) -> Self {
        let arguments =
            ["--data", "hub", "--json", "serve", "--vault", "notes", "--listen", listen];
        let mut command = place.command(&arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let printed = Deserializer::from_reader(out).into_iter().next();
        Self { child, printed: printed.expect("the hub prints a value").unwrap() }
    }

    fn vault(&self) -> &Value {
        &self.printed["vault"]
    }
}

impl Drop for VaultHub {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Has two devices use a vault; the devices trust a certificate authority besides the public ones.
fn two_devices(vault: &Value, authority: Option<&Path>) {
    let mut node = Command::new("node");
    node.arg(pouchdb::scenarios().join("setup.mjs"))
        .env("POUCHDB_MODULES", pouchdb::modules())
        .env("SETUP_URI", vault["setup_uri"].as_str().unwrap())
        .env("SETUP_PASSPHRASE", vault["setup_passphrase"].as_str().unwrap());
    if let Some(authority) = authority {
        node.env("NODE_EXTRA_CA_CERTS", authority);
    }
    let run = node.output().expect("node is installed");
    let said = String::from_utf8_lossy(&run.stdout);
    println!("{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "the devices cannot use the vault");
    assert_eq!(said.lines().filter(|line| line.starts_with("ok ")).count(), 4);
}

/// Whether this machine has an address in a network.
fn has_network() -> bool {
    UdpSocket::bind("0.0.0.0:0").is_ok_and(|socket| socket.connect("192.0.2.1:9").is_ok())
}

#[test]
fn one_command_makes_a_vault_that_two_devices_use_over_https() {
    pouchdb::modules();
    let place = TestDirectory::new();
    let begun = Instant::now();
    if !has_network() {
        let run =
            place.run(&["--data", "hub", "serve", "--vault", "notes", "--listen", "0.0.0.0:0"]);
        run.fails(2, "no address in a network");
        return;
    }
    let hub = VaultHub::start(&place, "0.0.0.0:0");
    let vault = hub.vault();
    let url = vault["url"].as_str().unwrap();
    assert!(url.starts_with("https://") && url.ends_with("/couch"), "{url}");
    let authority = place.path("hub/authority/certificate.pem");
    two_devices(vault, Some(&authority));
    println!("from nothing to a second device in {:.1} s", begun.elapsed().as_secs_f64());

    // Whoever does not trust the authority does not connect, and the authority is good for the hub only.
    let trust = place.run(&["--data", "hub", "--json", "vault", "trust-help"]);
    let trust: Value = serde_json::from_str(&trust.success(&["vault", "trust-help"])).unwrap();
    let host = url.trim_start_matches("https://").rsplit_once(':').unwrap().0;
    assert_eq!(trust["hosts"], json!([host, "localhost", "127.0.0.1"]));
    if has("curl") {
        let curl = Command::new("curl").args(["-sS", url]).output().unwrap();
        assert_eq!(curl.status.code(), Some(60), "the certificate is trusted without a reason");
        // A device gets the certificate from the hub, without trusting it yet, and compares the fingerprint.
        let served = url.replace("/couch", "/authority.crt");
        let served = Command::new("curl").args(["-sSfk", &served]).output().unwrap().stdout;
        let fingerprint = feedsync_store::Digest::of(&served).to_string();
        let shown = trust["fingerprint"].as_str().unwrap().replace(':', "").to_lowercase();
        assert_eq!(fingerprint, shown);
        let authority = authority.to_str().unwrap();
        let healthy = url.replace("/couch", "/healthz");
        output("curl", &["-sSf", "--cacert", authority, &healthy], &place.path("hub"));
    }
}

#[test]
fn tokens_of_devices_open_databases_only_and_can_be_revoked() {
    if !has("curl") {
        return;
    }
    let place = TestDirectory::new();
    let hub = VaultHub::start(&place, "127.0.0.1:0");
    let address = hub.printed["url"].as_str().unwrap();
    let directory = place.path("hub");
    let status = |token: &Value, path: &str| {
        let login = format!("notes:{}", token.as_str().unwrap());
        let url = format!("{address}{path}");
        let arguments = ["-sS", "-o", "/dev/null", "-w", "%{http_code}", "-u", &login, &url];
        output("curl", &arguments, &directory)
    };
    let first = &hub.vault()["token"];
    assert_eq!(status(first, "/couch/notes"), "200");
    assert_eq!(status(first, "/collections"), "403");
    assert_eq!(status(first, "/metrics"), "403");

    let url = format!("{address}/couch");
    let arguments = ["--data", "hub", "--json", "vault", "link", "notes", "--url", &url];
    let link =
        place.run_with(&[&arguments[..], &["--passphrase-stdin"]].concat(), "the passphrase\n");
    let second: Value = serde_json::from_str(&link.success(&arguments)).unwrap();
    assert_eq!(second["passphrase"], "the passphrase");
    two_devices(&second, None);

    let tokens =
        place.run(&["--data", "hub", "--json", "user", "token", "list", "--user", "notes"]);
    let tokens: Value = serde_json::from_str(&tokens.success(&["user", "token", "list"])).unwrap();
    assert_eq!(tokens.as_array().unwrap().len(), 2);
    for token in tokens.as_array().unwrap() {
        assert_eq!(token["label"], "vault notes");
        let id = token["id"].as_str().unwrap();
        place.run(&["--data", "hub", "user", "token", "revoke", id]).success(&["revoke"]);
    }
    // A node reads rights again within a second.
    until("the revocation", || match &*status(&second["token"], "/couch/notes") {
        "401" => Ok(()),
        other => Err(other.to_owned()),
    });
}

#[test]
fn the_log_of_a_service_has_no_setup_uri() {
    let place = TestDirectory::new();
    let mut command = place.command(&["--data", "hub", "serve", "--vault", "notes"]);
    command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut printed = Vec::new();
    let mut out = child.stdout.take().unwrap();
    let mut piece = [0; 4_096];
    while !String::from_utf8_lossy(&printed).contains("Stop with Ctrl-C") {
        let count = out.read(&mut piece).unwrap();
        assert!(count > 0, "the hub ended: {}", String::from_utf8_lossy(&printed));
        printed.extend(&piece[..count]);
    }
    child.kill().unwrap();
    let rest = child.wait_with_output().unwrap();
    let all = String::from_utf8_lossy(&printed) + String::from_utf8_lossy(&rest.stderr);
    assert!(all.contains("vault link notes --url http://127.0.0.1:"), "{all}");
    assert!(!all.contains("setuplivesync") && !all.contains("fs_"), "{all}");

    // The vault stays as it is at the next start.
    let hub = VaultHub::start(&place, "127.0.0.1:0");
    assert_eq!(*hub.vault(), Value::Null);
    let users = place.run(&["--data", "hub", "--json", "user", "list"]);
    let users: Value = serde_json::from_str(&users.success(&["user", "list"])).unwrap();
    let names: Vec<_> = users.as_array().unwrap().iter().map(|user| &user["name"]).collect();
    assert_eq!(names, ["admin", "notes"]);
}

#[test]
fn a_vault_is_not_made_of_what_exists_already() {
    let place = TestDirectory::new();
    place.bare("hub");
    let create = |arguments: &[&str]| {
        let all = ["--data", "hub", "vault", "create"];
        let url = ["--url", "https://hub.example.org/couch"];
        place.run(&[&all[..], arguments, &url].concat())
    };
    create(&["admin"]).fails(1, "admin is an administrator");
    let users = place.run(&["--data", "hub", "--json", "user", "list"]).success(&["user", "list"]);
    assert_eq!(users.trim(), "[]", "a refused vault leaves no user behind");
    create(&["notes", "--unencrypted"]).success(&["vault", "create"]);
    let link = ["--data", "hub", "vault", "link", "notes", "--unencrypted", "--user"];
    let link = |user| place.run(&[&link[..], &[user, "--url", "https://hub.example.org"]].concat());
    link("admin").fails(1, "admin is an administrator");
    link("nobody").fails(3, "nobody");
    let add = ["--data", "hub", "user", "add", "anna", "--no-password"];
    place.run(&add).success(&add);
    link("anna").fails(1, "anna may use more than databases");
    create(&["more", "--user", "anna"]).fails(1, "anna may use more than databases");
    create(&["notes"]).fails(1, "there is a database notes already");
    create(&["other", "--user", "admin"]).fails(1, "admin is an administrator");
    create(&["Notes"]).fails(2, "no name of a vault");
    create(&["_users"]).fails(2, "no name of a vault");
    let missing = place.run(&["--data", "hub", "vault", "create", "more"]);
    missing.fails(2, "the hub has no public_base");
    for url in ["hub.example.org/couch", "https://Hub.example.org", "ftp://hub.example.org"] {
        let run = place.run(&["--data", "hub", "vault", "create", "more", "--url", url]);
        run.fails(2, "is no address of databases");
    }
    // A public address of the configuration is taken.
    place.write("hub/feedsync.toml", "public_base = \"https://hub.example.org/sync\"\n");
    let link = place.run(&["--data", "hub", "--json", "vault", "link", "notes", "--unencrypted"]);
    let link: Value = serde_json::from_str(&link.success(&["vault", "link"])).unwrap();
    assert_eq!(link["url"], "https://hub.example.org/sync/couch");
    assert_eq!(link["passphrase"], Value::Null);
    // So is the name that a hub gets a certificate for.
    place.write("hub/feedsync.toml", "[tls]\nacme_names = [\"notes.example.org\"]\n");
    let link = place.run(&["--data", "hub", "--json", "vault", "link", "notes", "--unencrypted"]);
    let link: Value = serde_json::from_str(&link.success(&["vault", "link"])).unwrap();
    assert_eq!(link["url"], "https://notes.example.org/couch");
    place.write("hub/feedsync.toml", "");
    let hub = Hub::start_with(&place, "hub", |command| {
        command.args(["--vault", "notes"]);
    });
    drop(hub);
}
