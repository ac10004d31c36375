//! The feeds in `FEEDSYNC_CASES`, each of which once caused a fault, with the expected results.

use std::path::Path;

use feedsync_formats::PublishedFeed;

use crate::wild::read_as;

/// Every case gives the expected values.
#[test]
fn every_case_gives_the_expected_values() {
    let Some(folder) = std::env::var_os("FEEDSYNC_CASES") else {
        eprintln!("FEEDSYNC_CASES is not set: the cases of feeds are not read");
        return;
    };
    let folder = Path::new(&folder).join("feeds");
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "xml") {
            continue;
        }
        let headers = std::fs::read_to_string(path.with_extension("headers")).unwrap_or_default();
        let charset = headers.split_once("charset=").map(|(_, rest)| rest.trim());
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        check(&name, &read_as(&std::fs::read(&path).unwrap(), charset));
        count += 1;
    }
    eprintln!("{count} cases");
    assert!(count > 0);
}

fn check(name: &str, feed: &PublishedFeed) {
    let [entry] = &feed.entries[..] else { panic!("{name}: {} articles", feed.entries.len()) };
    let title = entry.title.as_deref();
    let date = entry.published.map(|date| date.to_string());
    let content = entry.content.as_deref().unwrap_or_default();
    match name {
        _ if name.starts_with("FB01") || name.starts_with("FB11") => {
            assert_eq!(title, Some("a"), "{name}")
        }
        _ if name.starts_with("bare-ampersand") => {
            assert_eq!(title, Some("One"), "{name}");
            assert!(feed.title.as_deref().unwrap().starts_with("AT&T"), "{name}");
        }
        _ if name.starts_with("FB31-date-") => {
            let expected = match &name["FB31-date-".len()..] {
                "12h" => "2024-12-15T12:15:00Z",
                "fullmonth" => "2024-05-06T07:08:00Z",
                "us-oct" => "2023-10-28T20:28:28Z",
                "slash-us" => "2018-08-21T09:00:00Z",
                "ymd-slash" => "2019-11-15T10:00:00Z",
                "cest" | "gmt-plus" => "2024-05-06T05:08:09Z",
                "only" => "2024-05-06T00:00:00Z",
                "unix" => "2024-05-06T07:08:09Z",
                "60s" => "2024-05-06T07:09:00Z",
                "24h" => "2024-05-07T00:00:00Z",
                "atom-pubDate" => "2021-05-28T14:00:00Z",
                other => panic!("{other}: no value is known"),
            };
            assert_eq!(date.as_deref(), Some(expected), "{name}");
        }
        "FB10-latin1-as-utf8" => assert_eq!(title, Some("café naïve “q”")),
        "FB19-title-c-generic" => assert_eq!(title, Some("List<String> in Java")),
        "FB23-rel-img-rss-link" => {
            assert!(content.contains("http://site.example/blog/post/wheels.png"), "{content}");
        }
        "FB23-rel-srcset" => {
            assert!(
                content.contains("srcset=\"http://site.example/blog/post/a.png 1x"),
                "{content}"
            );
            assert!(
                content.contains("poster=\"http://site.example/blog/post/p.jpg\""),
                "{content}"
            );
        }
        "FB26-link-atom-many" => assert_eq!(entry.link(), Some("http://site.example/1")),
        "FB27-youtube" => {
            assert!(content.starts_with("Line one"), "{content}");
            let thumbnail = "https://i1.ytimg.com/vi/abc/hqdefault.jpg";
            assert!(entry.links.iter().any(|link| link.href == thumbnail));
        }
        // The other cases have one article. Titles of articles without any are generated where articles are stored.
        _ => {}
    }
}
