//! A web site over https: nginx with a page, a picture, and a feed of two entries that can be edited.

use super::application::entry;
use crate::support::certificates::certify_localhost;
use crate::support::web::WebServer;
use crate::support::{TestDirectory, has};

/// A picture of four pixels.
pub(crate) const PICTURE: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x02\x01\0\0\0\0Z\xcd0\x89\
    \0\0\0\x0cIDATx\x9cch`p\0\0\x01\xc4\0\xc1\x98f5\x16\0\0\0\0IEND\xaeB`\x82";

/// Relations of the links that a subscription to the feed follows.
pub(crate) const FOLLOWS: [&str; 3] = ["edit", "alternate", "enclosure"];

const TYPES: &str = "types {
    application/atom+xml atom;
    \"application/atom+xml;type=entry\" entry;
    text/html html;
    image/png png;
}";

/// Browsers ask the gateway each time, and show nothing from their own cache without it.
const SERVER: &str = "dav_methods PUT DELETE;\n    add_header Cache-Control no-cache;";

const PAGE: &str = "<!doctype html><html lang=en><title>Pantry</title><link rel=icon href=data:,>
    <h1>Pantry</h1><img src=cat.png alt=cat>";

/// Starts the site with `feed.atom`, `bread.entry`, `butter.entry`, `page.html` and `cat.png`; `None` if a program is
/// not installed.
pub(crate) fn start(place: &TestDirectory) -> Option<WebServer> {
    if !has("openssl") {
        return None;
    }
    certify_localhost(place);
    let nginx = WebServer::nginx_encrypted(place, TYPES, SERVER)?;
    let link =
        |rel: &str, file: &str| format!("<link rel=\"{rel}\" href=\"{}\"/>", nginx.url(file));
    let mut entries = String::new();
    for (name, title) in [("bread", "Bread"), ("butter", "Butter")] {
        let file = format!("{name}.entry");
        place.write(&format!("www/{file}"), &entry(title));
        entries.push_str(&format!(
            "<entry><title>{title}</title><id>urn:example:{name}</id><updated>2026-11-21T00:00:00Z</updated>{}{}\
             </entry>",
            link("edit", &file),
            link("enclosure", "cat.png")
        ));
    }
    let feed = format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>Pantry</title><id>urn:example:pantry</id>\
         <updated>2026-11-21T00:00:00Z</updated><author><name>Anna</name></author>{}{entries}</feed>",
        link("alternate", "page.html")
    );
    place.write("www/feed.atom", &feed);
    place.write("www/page.html", PAGE);
    std::fs::write(place.path("www/cat.png"), PICTURE).unwrap();
    Some(nginx)
}
