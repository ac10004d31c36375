use std::time::Duration;

use super::*;

fn file(text: &str) -> Result<Config, ConfigurationError> {
    configure(&Sources { file: Some(("feedsync.toml".into(), text.into())), ..Sources::default() })
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

#[test]
fn flags_come_before_the_environment_before_the_file_before_defaults() {
    let mut sources = Sources::default();
    let items = |sources: &Sources| configure(sources).unwrap().limits.body_items;
    assert_eq!(items(&sources), 1_000);
    sources.file = Some(("f".into(), "[limits]\nbody_items = 1\n".into()));
    assert_eq!(items(&sources), 1);
    sources.environment = vec![pair("FEEDSYNC_LIMITS_BODY_ITEMS", "2"), pair("HOME", "/")];
    assert_eq!(items(&sources), 2);
    sources.flags = vec![pair("limits.body_items", "3")];
    assert_eq!(items(&sources), 3);
}

#[test]
fn every_setting_can_be_said_and_shown_in_all_places() {
    let text = "\
listen = [\"127.0.0.1:1\", \"[::1]:2\"]
public_base = \"https://feeds.example.org\"
hosts = [\"box.lan\"]
trusted_proxies = [\"10.0.0.0/8\", \"::1/128\"]
proxy = \"http://proxy.lan:3128\"
store = \"sqlite:/var/lib/feedsync\"
metrics = \"public\"
[tls]
certificate = \"c.pem\"
key = \"k.pem\"
[log]
format = \"json\"
level = \"warn,feedsync_server=debug\"
[limits]
body_bytes = \"4 MiB\"
head_time = \"1500 ms\"
client_requests = 0
";
    let config = file(text).unwrap();
    assert_eq!(config.listen.len(), 2);
    assert_eq!(config.trusted_proxies.len(), 2);
    assert_eq!(config.limits.body_bytes, 4 << 20);
    assert_eq!(config.limits.head_time, Duration::from_millis(1_500));
    assert_eq!(config.limits.client_requests, 0);
    let shown = as_toml(&config);
    for line in text.lines() {
        assert!(shown.lines().any(|other| other == line), "{line} in {shown}");
    }
    // The output can be parsed, and parses to the same settings.
    assert_eq!(as_toml(&file(&shown).unwrap()), shown);
    let defaults = as_toml(&Config::default());
    assert_eq!(as_toml(&file(&defaults).unwrap()), defaults);
    // The same holds for the environment and for flags.
    let value = |setting: &Setting| {
        let shown = (setting.show)(&config);
        shown.trim_matches(['[', ']']).replace('"', "")
    };
    let environment = settings().iter().map(|one| (variable(one.name), value(one))).collect();
    let by_environment = configure(&Sources { environment, ..Sources::default() }).unwrap();
    assert!(as_toml(&by_environment).contains("trusted_proxies = [\"10.0.0.0/8\", \"::1/128\"]"));
    let flags = settings().iter().map(|one| (one.name.to_owned(), value(one))).collect();
    let by_flags = configure(&Sources { flags, ..Sources::default() }).unwrap();
    assert_eq!(as_toml(&by_flags), as_toml(&by_environment));
}

#[test]
fn unknown_settings_are_refused_with_name_and_position() {
    let refused = |text: &str| file(text).unwrap_err().to_string();
    assert_eq!(refused("\nlimit = 1"), "feedsync.toml:2: unknown setting \"limit\"");
    let unknown = refused("[limits]\n# one\nbody_items = 1\nbody_item = 2\n");
    assert_eq!(
        unknown,
        "feedsync.toml:4: unknown setting \"limits.body_item\"; did you mean limits.body_items?"
    );
    assert!(refused("[limits\n").starts_with("feedsync.toml:1: "));
    assert!(refused("a = 1\na = 2\n").starts_with("feedsync.toml:2: "));
    let environment = vec![pair("FEEDSYNC_LIMITS_BODY_ITEM", "1")];
    let unknown = configure(&Sources { environment, ..Sources::default() }).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "FEEDSYNC_LIMITS_BODY_ITEM: no setting belongs to this variable; did you mean FEEDSYNC_LIMITS_BODY_ITEMS?"
    );
}

#[test]
fn invalid_values_are_refused_with_position_and_reason() {
    for (text, said) in [
        ("listen = \"here\"", "such as 127.0.0.1:8080 or [::1]:8080"),
        ("couch_listen = \"8080\"", "\"8080\" is not an address with a port"),
        ("private_feeds = \"lan\"", "\"lan\" is neither an address, such as 192.168.1.5"),
        ("listen = []", "one address"),
        ("public_base = \"ftp://a\"", "not a public base URL"),
        ("proxy = \"socks5://a\"", "not the address of a proxy"),
        ("proxy = \"http://u:p@a\"", "not the address of a proxy"),
        ("proxy = \"http://a/x\"", "not the address of a proxy"),
        ("trusted_proxies = [\"10.0.0.0/40\"]", "10.0.0.0/40"),
        ("store = \"mysql://a\"", "not the address of a store"),
        ("metrics = \"all\"", "administrators or public"),
        ("[log]\nlevel = \"loud\"", "loud"),
        ("[log]\nformat = \"xml\"", "text or json"),
        ("[tls]\ncertificate = \"c.pem\"", "tls.key must be set too"),
        ("[tls]\nacme_names = [\"10.0.0.1\"]", "\"10.0.0.1\" is not a host name"),
        ("[tls]\nacme_names = [\"localhost\"]", "\"localhost\" is not a host name"),
        ("[tls]\nacme_names = [\"*.example.org\"]", "is not a host name such as"),
        (
            "[tls]\ncertificate = \"c\"\nkey = \"k\"\nacme_names = [\"a.example\"]",
            "tls.acme_names must not be set",
        ),
        ("[limits]\nbody_bytes = \"8 MB\"", "8 MB"),
        ("[limits]\nbody_bytes = \"9999999999 GiB\"", "limits.body_bytes"),
        ("[limits]\nbody_items = 0", "too small"),
        ("[limits]\nbody_items = -1", "-1"),
        ("[limits]\nbody_items = [1]", "found a list"),
        ("[limits]\nbody_items = true", "must be a text, a number or a list"),
        ("[limits]\nhead_time = \"soon\"", "\"1 h\" or \"30 days\": \"soon\" is not a time"),
        ("[limits]\nbody_items = \"many\"", "\"many\" is not a number"),
        ("[limits]\nhead_time = \"900000 h\"", "too long"),
        ("limits = 3", "unknown setting \"limits\""),
        ("[[limits]]\nbody_items = 3", "must be a text, a number or a list"),
    ] {
        let refused = file(text).unwrap_err().to_string();
        assert!(refused.contains(said), "{text}: {refused}");
    }
}

#[test]
fn time_may_be_a_number_of_days() {
    for text in ["30d", "30 d", "720 h"] {
        let config = file(&format!("[limits]\narticle_time = \"{text}\"")).unwrap();
        assert!(as_toml(&config).contains("article_time = \"30 days\""), "{text}");
    }
}

#[test]
fn a_password_of_the_store_is_never_shown() {
    let config = file("store = \"postgres://anna:s3cret@db.lan/feeds?password=s3cret\"").unwrap();
    assert!(as_toml(&config).contains("store = \"postgres://anna@db.lan/feeds\""));
    assert!(!format!("{config:?}").contains("s3cret"));
}

/// `UPDATE_DOCS=1 cargo test -p feedsync-server configuration` regenerates it.
#[test]
fn the_reference_is_what_the_code_says() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, reference()).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written == reference(), "docs/configuration.md is stale: UPDATE_DOCS=1 writes it anew");
}
