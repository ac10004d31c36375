//! A hub, an endpoint of FeedSync, and an endpoint of SSE 0.91 alone that publishes a file: real processes,
//! real HTTP.

mod support;

use support::web::WebServer;
use support::{Hub, TestDirectory, until};

/// The file of the SSE endpoint: a version of one item, with its earlier versions.
fn sse(title: &str, versions: &[(u32, &str)]) -> String {
    let stamp = |(version, by): &(u32, &str)| {
        format!("when='Sat, {version:02} May 2005 09:43:33 GMT' by='{by}'")
    };
    let updates: String =
        versions[1..].iter().map(|it| format!("<sx:update {}/>", stamp(it))).collect();
    format!(
        "<rss version='2.0' xmlns:sx='http://www.microsoft.com/schemas/rss/sse'><channel>\
         <title>T</title><link>http://a/</link><description>D</description>\
         <sx:sharing version='0.91'/><item><title>{title}</title>\
         <sx:sync id='milk' version='{}'><sx:history {}>{updates}</sx:history></sx:sync></item>\
         </channel></rss>",
        versions[0].0,
        stamp(&versions[0])
    )
}

#[test]
fn an_endpoint_of_sse_and_one_of_feedsync_edit_one_list_through_a_hub() {
    let place = TestDirectory::new();
    std::fs::create_dir(place.path("www")).unwrap();
    place.write("www/p.rss", &sse("Milk", &[(1, "P")]));
    let Some(web) = WebServer::nginx(&place, "", "") else { return };
    place.desk("hub");
    let hub = Hub::start(&place, "hub");
    let desk = place.desk("desk");
    let of_hub = |arguments: &[&str]| {
        let run = place.run(&[&["--data", "hub"], arguments].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    };
    of_hub(&["remote", "subscribe", "notes", &web.url("p.rss")]);
    let synced = || of_hub(&["sync", "notes", &web.url("p.rss")]);
    synced();
    desk.ok(&["sync", "notes", &hub.notes()]);
    assert_eq!(desk.json(&["ls", "notes"])[0]["title"], "Milk");
    desk.ok(&["edit", "notes", "milk", "--title", "Oat milk"]);
    desk.ok(&["sync", "notes", &hub.notes()]);
    // Feed that the hub publishes for clients that support only SSE.
    let read =
        || support::output("curl", &["-s", &format!("{}/sse.rss", hub.notes())], &place.path("."));
    let document = read();
    assert!(document.contains("Oat milk") && document.contains("version=\"2\""), "{document}");
    assert!(document.contains("sse-complete.rss"), "{document}");
    // P has edited the first version meanwhile.
    place.write("www/p.rss", &sse("Soy milk", &[(2, "P"), (1, "P")]));
    until("both versions are kept", || {
        synced();
        let conflicts = of_hub(&["--json", "conflicts", "notes"]);
        let has_both = conflicts.contains("Oat milk") && conflicts.contains("Soy milk");
        if has_both { Ok(()) } else { Err(conflicts) }
    });
    assert!(read().contains("conflict=\"true\""));
    let posted = sse("Milk again", &[(3, "P"), (2, "P"), (1, "P")]);
    let url = format!("{}/sse.rss", hub.notes());
    let posted =
        ["-s", "-H", "Content-Type: application/rss+xml", "--data-binary", &*posted, &*url];
    let answer = support::output("curl", &posted, &place.path("."));
    assert!(answer.contains("\"conflict\":1") || answer.contains("\"updated\":1"), "{answer}");
    desk.ok(&["sync", "notes", &hub.notes()]);
    let titles = desk.json(&["conflicts", "notes"]).to_string();
    assert!(titles.contains("Milk again") && titles.contains("Oat milk"), "{titles}");
}
