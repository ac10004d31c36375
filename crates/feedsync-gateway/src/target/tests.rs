use super::*;

fn addresses() -> Addresses {
    let mounts = ["notes=https://example.org/notes", "root=http://box.lan:8080/"];
    let mounts = mounts.map(|text| text.parse().unwrap()).to_vec();
    let allowed = ["example.com", "example.net:8443"].map(|text| text.parse().unwrap()).to_vec();
    let own = OwnAddresses::default();
    own.add("127.0.0.1:5023".parse().unwrap());
    Addresses { reachable: Reachable::new(mounts, allowed), own }
}

fn asked(uri: &str, host: &str) -> Result<Target, TargetError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, host.parse().unwrap());
    addresses().target(&uri.parse().unwrap(), &headers, None)
}

fn reverse(path: &str) -> Result<Target, TargetError> {
    asked(path, "localhost:5023")
}

#[test]
fn a_path_names_an_origin_or_a_mount() {
    for (asked, location, prefix, path) in [
        (
            "/https/example.org/notes/?x=1",
            "https://example.org/notes/?x=1",
            "/https/example.org",
            "/notes/?x=1",
        ),
        ("/http/box.lan:8080/a", "http://box.lan:8080/a", "/http/box.lan:8080", "/a"),
        ("/notes/", "https://example.org/notes/", "/notes", "/notes/"),
        ("/notes/1?x=%2f", "https://example.org/notes/1?x=%2F", "/notes", "/notes/1?x=%2f"),
        ("/root/%7ea//b", "http://box.lan:8080/~a//b", "/root", "/%7ea//b"),
    ] {
        let target = reverse(asked).unwrap();
        assert_eq!(target.location.as_str(), location, "{asked}");
        assert_eq!(target.path.as_str(), path, "{asked}");
        let host = "localhost:5023".parse().unwrap();
        assert_eq!(target.mode, Mode::Reverse { prefix: prefix.to_owned(), host }, "{asked}");
    }
}

#[test]
fn an_origin_or_a_mount_is_found_without_the_slash_that_its_addresses_begin_with() {
    for (asked, at) in [
        ("/notes", "/notes/"),
        ("/notes?x=/1", "/notes/?x=/1"),
        ("/https/example.com", "/https/example.com/"),
        ("/http/box.lan:8080?q", "/http/box.lan:8080/?q"),
    ] {
        assert_eq!(reverse(asked).unwrap_err(), TargetError::Unslashed(at.to_owned()));
    }
    for other in ["/", "/https", "/note", "/notes2", "/?notes/", "/Notes"] {
        assert_eq!(reverse(other).unwrap_err(), TargetError::NoOrigin(other.to_owned()));
    }
    let rebound = asked("/notes", "evil.example").unwrap_err();
    assert!(matches!(rebound, TargetError::ForeignHost(_)), "{rebound}");
}

#[test]
fn a_proxy_is_asked_by_the_whole_address() {
    let target = asked("http://Example.com/a%7e/../b?q", "else.example").unwrap();
    assert_eq!(target.mode, Mode::Forward);
    assert_eq!(target.path.as_str(), "/a%7e/../b?q");
    assert_eq!(target.location.as_str(), "http://example.com/b?q");
    assert_eq!(target.host(), "example.com");
    let secure = asked("https://example.com/a", "example.com").unwrap_err();
    assert_eq!(secure, TargetError::Secure("/https/example.com/a".to_owned()));
    // The gateway's own address in absolute form is equivalent to its path.
    let own = asked("http://localhost:5023/notes/1", "localhost:5023").unwrap();
    assert_eq!(own.location.as_str(), "https://example.org/notes/1");
}

#[test]
fn only_known_authorities_are_reached() {
    for path in
        ["/https/example.net/", "/http/example.com:8080/", "/http/127.0.0.1/", "/http/[::1]:80/"]
    {
        assert!(matches!(reverse(path), Err(TargetError::NotReachable { .. })), "{path}");
    }
    let error = reverse("/http/box.lan:22/").unwrap_err();
    assert!(error.to_string().contains("--allow box.lan:22"), "{error}");
    let error = reverse("/http/10.0.0.1/").unwrap_err();
    assert!(error.to_string().contains("--allow 10.0.0.1,"), "{error}");
}

#[test]
fn a_path_that_could_be_read_in_two_ways_is_refused() {
    for path in [
        "/notes/../secret",
        "/notes/%2e%2E/secret",
        "/notes/.%2e/secret",
        "/notes/a\\..\\b",
        "/./https/example.org/",
    ] {
        assert_eq!(reverse(path), Err(TargetError::Segments), "{path}");
    }
    for path in [
        "/https/user@example.org/",
        "/https/example.com\\@evil.example/",
        "/https//example.org/",
        "/https/example.org:/",
        "/https/example%2eorg/",
        "/ftp/example.org/",
        "/",
        "/unknown/",
        "/.well-known/x",
    ] {
        let error = reverse(path).unwrap_err();
        let kind = matches!(error, TargetError::NoOrigin(_) | TargetError::Authority(_));
        assert!(kind, "{path}: {error:?}");
    }
}

#[test]
fn a_name_that_was_pointed_here_is_no_host() {
    for host in ["evil.example", "evil.example:5023", "10.0.0.1:5023"] {
        let refused = asked("/notes/", host);
        assert!(matches!(refused, Err(TargetError::ForeignHost(_))), "{host}");
    }
    let uri = "/notes/".parse().unwrap();
    assert_eq!(addresses().target(&uri, &HeaderMap::new(), None), Err(TargetError::Host));
    let mut two = HeaderMap::new();
    two.append(header::HOST, "localhost".parse().unwrap());
    two.append(header::HOST, "localhost".parse().unwrap());
    assert_eq!(addresses().target(&uri, &two, None), Err(TargetError::Host));
}

#[test]
fn requests_to_the_gateway_itself_are_refused() {
    for path in
        ["/http/127.0.0.1:5023/notes/", "/http/localhost:5023/", "/https/[::ffff:127.0.0.1]:5023/"]
    {
        assert!(matches!(reverse(path), Err(TargetError::Loop(_))), "{path}");
    }
    let tunnel = addresses().tunnel(&"localhost:5023".parse().unwrap());
    assert!(matches!(tunnel, Err(TargetError::Loop(_))));
}

#[test]
fn tunnels_lead_to_few_ports() {
    let tunnel = |text: &str| addresses().tunnel(&text.parse().unwrap());
    for text in ["example.com:443", "example.org:443", "example.net:8443", "box.lan:8080"] {
        assert_eq!(tunnel(text).unwrap().to_string(), text);
    }
    for text in ["example.com:25", "example.com:80"] {
        let refused = tunnel(text).unwrap_err();
        let kind = matches!(refused, TargetError::TunnelPort(_) | TargetError::NotReachable { .. });
        assert!(kind, "{text}: {refused:?}");
    }
    assert!(matches!(tunnel("example.invalid:443"), Err(TargetError::NotReachable { .. })));
}

#[test]
fn an_address_has_its_path_at_the_gateway() {
    let path = |text: &str| addresses().path_of(&text.parse().unwrap());
    for (location, expected) in [
        ("https://example.org/notes/1?x", "/notes/1?x"),
        ("https://example.org/other", "/https/example.org/other"),
        ("http://box.lan:8080/a", "/root/a"),
        ("http://example.com/", "/http/example.com/"),
    ] {
        let found = path(location).unwrap();
        assert_eq!(found, expected);
        assert_eq!(addresses().resolve_path(&found).unwrap().0.as_str(), location);
    }
    assert_eq!(path("https://evil.example/"), None);
}
