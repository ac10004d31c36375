//! The examples of the specification (V26 to V31).

use feedsync_core::RelatedKind;
use feedsync_core::sse::{Item, Stamp};

use super::*;
use crate::ReadError;

const CREATED: &str = r#"<item>
<description>This is a test item</description>
<sx:sync id="0a7903db47fb0ae8" version="1">
<sx:history when="Sat, 21 May 2005 09:43:33 GMT" by="REO1750"/>
</sx:sync>
</item>"#;

const UPDATED: &str = r#"<item>
<description>This is a test item</description>
<sx:sync id="0a7903db47fb0ae8" version="4">
<sx:history when="Tue, 24 May 2005 09:43:33 GMT" by="REO1750">
<sx:update when="Mon, 23 May 2005 09:43:33 GMT" by="REO1750" />
<sx:update when="Sun, 22 May 2005 09:43:33 GMT" by="REO1750" />
<sx:update when="Sat, 21 May 2005 09:43:33 GMT" by="REO1750" />
</sx:history>
</sx:sync>
</item>"#;

const TRUNCATED: &str = r#"<item>
<description>This is a test item</description>
<sx:sync id="0a7903db47fb0ae8" version="6">
<sx:history when="Thu, 26 May 2005 09:43:33 GMT" by="REO1750">
<sx:update when="Wed, 25 May 2005 09:43:33 GMT" by="REO1750" />
<sx:update when="Tue, 24 May 2005 09:43:33 GMT" by="REO1750" />
<sx:update when="Mon, 23 May 2005 09:43:33 GMT" by="REO1750" />
</sx:history>
</sx:sync>
</item>"#;

const CONFLICT: &str = r#"<item>
<description>This is a test item</description>
<sx:sync id="0a7903db47fb0ae8" version="4" conflict="true">
<sx:history when="Tue, 24 May 2005 09:43:33 GMT" by="REO1750">
<sx:update when="Mon, 23 May 2005 09:43:33 GMT" by="REO1750" />
</sx:history>
<sx:conflicts>
<sx:conflict when="Tue, 24 May 2005 08:00:11 GMT" by="GPM7383" version="4">
<!--conflict data here -->
</sx:conflict>
</sx:conflicts>
</sx:sync>
</item>"#;

fn only_item(text: &str) -> Item<feedsync_core::Payload> {
    let document = read(&rss(text));
    assert!(document.diagnostics().is_empty() && document.refused().is_empty());
    assert_eq!(document.as_bytes(), rss(text).as_bytes());
    document.items().next().unwrap().clone()
}

fn days(item: &Item<feedsync_core::Payload>) -> Vec<u8> {
    let stamps = std::iter::once(&item.history.latest).chain(&item.history.updates);
    let day = |stamp: &Stamp| stamp.when()?.to_string()[5..7].parse().ok();
    stamps.filter_map(day).collect()
}

#[test]
fn the_start_tag_of_1_1_is_ill_formed_and_reads_with_quotes() {
    let printed = format!("<rss version=2.0\nxmlns:sx=\"{HTTPS}\">");
    let error = Document::read(printed.as_bytes(), &ReadOptions::strict()).err().unwrap();
    assert!(
        matches!(&error, ReadError::Document { position, .. }
        if (position.line, position.column) == (1, 14)),
        "{error}"
    );
    let quoted = printed.replace("2.0", "\"2.0\"") + "<channel/></rss>";
    assert!(read(&quoted).items().next().is_none());
}

#[test]
fn the_sharing_of_2_2_2_has_a_window_and_three_related_feeds() {
    let document = read(&rss(r#"<sx:sharing
since="Tue, 1 Nov 2004 09:43:33 GMT"
until="Fri, 1 Mar 2005 09:43:33 GMT"
version="0.91" >
<sx:related link="http://x.com/all.xml" type="complete" />
<sx:related link="http://y.net/B.xml" type="aggregated"
title="Family Contacts (Dad's Copy)" />
<sx:related link="http://y.net/C.xml" type="aggregated"
title="Family Contacts (Suzy's Copy)" />
</sx:sharing>"#));
    let sharing = document.sharing().unwrap();
    assert_eq!(sharing.since.as_ref().unwrap().timestamp().to_string(), "2004-11-01T09:43:33Z");
    assert_eq!(sharing.until.as_ref().unwrap().timestamp().to_string(), "2005-03-01T09:43:33Z");
    assert_eq!((sharing.version.as_str(), sharing.window), ("0.91", None));
    assert_eq!(sharing.complete(), Some("http://x.com/all.xml"));
    let kinds: Vec<_> = sharing.related.iter().map(|related| related.kind).collect();
    assert_eq!(kinds, [RelatedKind::Complete, RelatedKind::Aggregated, RelatedKind::Aggregated]);
    assert_eq!(sharing.related[1].title.as_deref(), Some("Family Contacts (Dad's Copy)"));
    assert!(document.diagnostics().is_empty(), "wrong weekdays are not looked at");
}

#[test]
fn the_item_of_4_1_is_created() {
    let item = only_item(CREATED);
    assert_eq!((item.id.as_str(), item.version.get()), ("0a7903db47fb0ae8", 1));
    assert_eq!(item.history.latest.by().unwrap().as_str(), "REO1750");
    assert_eq!(days(&item), [21]);
    assert_eq!(
        item.payload.text(),
        "<item>\n<description>This is a test item</description>\n</item>"
    );
}

#[test]
fn the_items_of_4_2_are_updated_and_truncated() {
    let item = only_item(UPDATED);
    assert_eq!((item.version.get(), days(&item)), (4, vec![24, 23, 22, 21]));
    let item = only_item(TRUNCATED);
    assert_eq!((item.version.get(), days(&item)), (6, vec![26, 25, 24, 23]));
}

#[test]
fn the_item_of_5_2_keeps_a_record_without_data() {
    let item = only_item(CONFLICT);
    assert!(item.conflict);
    let [record] = &item.conflicts[..] else { panic!("{:?}", item.conflicts) };
    assert_eq!((record.version.get(), &record.payload), (4, &None));
    assert_eq!(record.stamp.by().unwrap().as_str(), "GPM7383");
}

#[test]
fn each_example_follows_from_the_one_before() {
    for (older, newer) in [(CREATED, UPDATED), (UPDATED, TRUNCATED)] {
        let (text, outcomes) = merged(&rss(older), &rss(newer));
        assert_eq!(outcomes, [Outcome::Updated]);
        assert!(!text.contains("conflict"), "{text}");
        assert_eq!(merged(&rss(newer), &rss(older)).0, rss(newer));
    }
}
