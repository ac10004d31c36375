//! The authority of the gateway: its key, and the instructions of `feedsync gateway ca trust-help` for applications and
//! systems. Those for Perl, requests, newsboat and Chromium are followed where these are tested.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::gateways::application::{Application, Route};
use crate::gateways::gateway::Gateway;
use crate::gateways::hub::Hub;
use crate::gateways::recipe::{Recipe, follow};
use crate::gateways::site;
use crate::support::{Run, TestDirectory, has};

#[test]
fn the_key_of_the_authority_is_for_its_user_alone_and_is_never_shown() {
    if !has("openssl") {
        return;
    }
    let place = TestDirectory::new();
    let hub = Hub::encrypted(&place);
    let gateway = Gateway::intercepting(&place, &hub.authority());
    let shown = place.run(&["--data", "gateway", "gateway", "ca", "show", "--json"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    let mut keys = 0;
    let mut directories = vec![place.path("gateway")];
    while let Some(directory) = directories.pop() {
        for file in std::fs::read_dir(&directory).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if std::fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"-----BEGIN PRIV"))
            {
                keys += 1;
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                assert_eq!(mode, 0o600, "{}", path.display());
                let key = std::fs::read_to_string(&path).unwrap();
                let line = key.lines().nth(1).unwrap();
                assert!(!shown.out.contains(line) && !gateway.log().contains(line));
            }
        }
    }
    assert_eq!(keys, 1);
}

/// Fetches the URL `$2` through the proxy `$1` with Python's own library.
const PYTHON: &str =
    "https_proxy=$1 python3 -c \"import urllib.request; urllib.request.urlopen('$2').read()\"";

/// Fetches the URL `$2` through the proxy `$1` with Node.js.
const NODE: &str = r#"node -e "
    const [proxy, url] = process.argv.slice(1).map((text) => new URL(text));
    require('http').request(proxy, { method: 'CONNECT', path: url.host }).on('connect', (_, socket) => {
      const createConnection = () => require('tls').connect({ socket, servername: url.hostname });
      require('https').get(url, { createConnection }, (response) => response.resume());
    }).end();
" "$1" "$2""#;

#[test]
fn instructions_for_applications_make_them_trust_the_authority() {
    let place = TestDirectory::new();
    let Some(nginx) = site::start(&place) else { return };
    if !has("node") || !has("python3") {
        return;
    }
    let gateway = Gateway::intercepting(&place, &nginx.authority);
    let (proxy, url) = (format!("http://{}", gateway.address), nginx.url("feed.atom"));
    let run = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh", &proxy, &url]).current_dir("/").env_remove("no_proxy");
        Run::of(shell.output().unwrap())
    };
    let curl = |command: &str| format!("{command} -sSf --proxy $1 $2");
    let [with_curl, python, node] =
        ["curl", "Other Python", "Node.js"].map(|name| Recipe::of(&place, name).trust.concat());
    for with in
        [curl(&with_curl), format!("export {python}; {PYTHON}"), format!("export {node}; {NODE}")]
    {
        run(&with).success(&[&with]);
    }
    // The gateway does not intercept an application that has refused the certificate, so these come last.
    for without in [curl("curl"), PYTHON.to_owned(), NODE.to_owned()] {
        let refused = run(&without);
        assert_ne!(refused.code, 0, "{refused:?}");
    }
}

#[test]
fn instructions_for_debian_add_the_authority_to_the_system_and_remove_it() {
    let place = TestDirectory::new();
    let Some(nginx) = site::start(&place) else { return };
    if !has("update-ca-certificates") {
        return;
    }
    let gateway = Gateway::intercepting(&place, &nginx.authority);
    let system = place.path("system");
    for name in ["local", "etc", "hooks"] {
        std::fs::create_dir_all(system.join(name)).unwrap();
    }
    std::fs::write(system.join("conf"), "# no certificates of the distribution\n").unwrap();
    std::fs::copy(place.path("ca.pem"), system.join("local/other.crt")).unwrap();
    let at = system.to_str().unwrap();
    let update = format!(
        "update-ca-certificates --certsconf {at}/conf --certsdir {at}/none --localcertsdir {at}/local \
         --etccertsdir {at}/etc --hooksdir {at}/hooks"
    );
    // The commands change a system in the directory of the test, and nothing else.
    let within = |commands: &[String]| -> Vec<String> {
        let commands = commands.iter().map(|command| {
            let command = command.strip_prefix("sudo ").expect("a command of the administrator");
            let command = command.replace("update-ca-certificates", &update);
            command.replace("/usr/local/share/ca-certificates", &format!("{at}/local"))
        });
        let commands: Vec<_> = commands.collect();
        assert!(!commands.iter().any(|it| it.contains(" /usr") || it.contains(" /etc")));
        commands
    };
    let curl = Application::new(Route::Proxy(gateway.address.clone()), None);
    let curl = curl.trusting(&system.join("etc/ca-certificates.crt"));
    let ask = || curl.ask("GET", &nginx.url("feed.atom"), &[], None);
    let debian = Recipe::of(&place, "Debian, Ubuntu");
    follow(&within(&debian.trust), &system);
    assert_eq!(ask().expect("an answer").status, 200);
    follow(&within(&debian.undo), &system);
    assert!(ask().is_none(), "the gateway is trusted");
    let left = std::fs::read_to_string(system.join("etc/ca-certificates.crt")).unwrap();
    assert_eq!(left, place.read("ca.pem"));
}
