//! Media that may have been created: the gateway compares them with the new media in the feed (BITSY 3.5,
//! R-B35).

use std::time::Duration;

use crate::desk::{Desk, EDITABLE, FEED, answer, feed};
use crate::looks::{count, waiting};

const MEMBERS: &str = "http://www.example.com/members";

/// A member with a picture, as its feed lists it.
fn picture(name: &str) -> String {
    format!(
        "<entry><id>urn:{name}</id><title>{name}</title><link rel='edit' href='/feed/{name}'/>\
         <content type='image/png' src='/{name}.png'/></entry>"
    )
}

/// A desk where a picture was posted and may have been created. Its feed lists these members. Returns the
/// temporary address, too.
fn posted_picture(names: &[&str]) -> (Desk, String) {
    let mut desk = Desk::with_member();
    desk.is_online = false;
    let made = desk.ask("POST", MEMBERS, &[("content-type", "image/png")], "picture");
    let pending = made.headers["location"].to_str().unwrap().to_owned();
    desk.is_online = true;
    desk.now = desk.now.after(Duration::from_secs(10));
    let (_, step) = desk.begin();
    desk.take(&step);
    desk.restart();
    let listed: String = names.iter().map(|name| picture(name)).collect();
    desk.serve("GET", FEED, feed(&format!("{EDITABLE}{listed}")));
    desk.serve("POST", MEMBERS, answer(201, &[("location", "/feed/late")], ""));
    desk.lines();
    (desk, pending)
}

#[test]
fn picture_is_found_among_the_new_media_of_the_feed() {
    let (mut desk, pending) = posted_picture(&["one", "two", "three"]);
    desk.serve("GET", "http://www.example.com/one.png", answer(200, &[], "another"));
    desk.serve("GET", "http://www.example.com/two.png", answer(410, &[], "picture"));
    desk.serve("GET", "http://www.example.com/three.png", answer(200, &[], "picture"));
    desk.run();
    assert_eq!((waiting(&desk), desk.errors()), (0, vec![]));
    assert_eq!(desk.get(&pending).headers["location"], "http://www.example.com/feed/three");
    let looked: Vec<String> =
        desk.lines().into_iter().filter(|line| line.ends_with(".png")).collect();
    let names =
        ["one", "two", "three"].map(|name| format!("GET http://www.example.com/{name}.png"));
    assert_eq!(looked[..3], names);
    assert!(!desk.arrived.iter().any(|arrived| arrived.line.starts_with("POST")));
}

#[test]
fn picture_that_is_not_among_them_is_sent_again() {
    for names in [&[] as &[&str], &["one"]] {
        let (mut desk, pending) = posted_picture(names);
        desk.serve("GET", "http://www.example.com/one.png", answer(200, &[], "another"));
        desk.run();
        assert_eq!(count(&mut desk, &format!("POST {MEMBERS}")), 1);
        assert_eq!(desk.get(&pending).headers["location"], "http://www.example.com/feed/late");
    }
}
