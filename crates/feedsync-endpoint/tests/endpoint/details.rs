//! Details of a feed that a collection stores (FeedSync 2.1 rule 7).

use feedsync_core::Format;
use feedsync_endpoint::{Actor, Settings};
use feedsync_formats::{FeedDetails, HeadMarkup};
use feedsync_store::{AuditSelection, CollectionChange, CollectionName, UserName};

use crate::support::{endpoint, notes};

fn details(subtitle: &str) -> FeedDetails {
    FeedDetails {
        subtitle: Some(subtitle.to_owned()),
        author: Some("Ann".to_owned()),
        markup: Some(HeadMarkup::new(Format::Rss, ["<m:x xmlns:m='urn:m'/>"]).unwrap()),
        ..FeedDetails::default()
    }
}

#[tokio::test]
async fn details_of_the_first_feed_are_taken_up_and_published() {
    let hub = endpoint("hub").await;
    assert!(hub.publish(&notes(), None).await.unwrap().details.is_empty());
    let nothing = FeedDetails { left_out: 2, ..FeedDetails::default() };
    assert!(!hub.adopt_details(&notes(), &nothing).await.unwrap());
    let ann = Actor { user: Some(UserName::new("ann").unwrap()), address: None };
    assert!(hub.on_behalf_of(ann).adopt_details(&notes(), &details("first")).await.unwrap());
    assert!(!hub.adopt_details(&notes(), &details("second")).await.unwrap());
    for published in [
        hub.publish(&notes(), None).await.unwrap().details,
        hub.publish(&notes(), Some("anything")).await.unwrap().details,
        hub.publish_complete(&notes()).await.unwrap().details,
        hub.publish_sse(&notes(), false).await.unwrap().details,
        hub.publish_sse(&notes(), true).await.unwrap().details,
    ] {
        assert_eq!(published, details("first"));
    }
    let acts = hub.store().acts(AuditSelection { limit: 9, ..Default::default() }).await.unwrap();
    let acts: Vec<_> = acts.iter().map(|recorded| recorded.act.detail.as_str()).collect();
    assert_eq!(acts, ["author, markup, subtitle"]);
    let none = CollectionName::new("none").unwrap();
    assert!(hub.adopt_details(&none, &details("first")).await.is_err());
}

#[tokio::test]
async fn details_that_somebody_set_are_never_overwritten() {
    for name in Settings::DETAILS {
        let hub = endpoint("hub").await;
        let mut settings = Settings { drafts: true, ..Settings::default() };
        let value = match name {
            "markup" => r#"{"format": "json", "pieces": ["\"a\":1"]}"#,
            _ => "\"set\"",
        };
        settings.set(name, value).unwrap();
        let mut stored = Default::default();
        settings.write(&mut stored);
        let change = CollectionChange { settings: Some(stored), ..CollectionChange::default() };
        let before = hub.change_collection(&notes(), change).await.unwrap();
        assert!(!hub.adopt_details(&notes(), &details("feed")).await.unwrap(), "{name}");
        assert_eq!(hub.collection(&notes()).await.unwrap(), before, "{name}");
    }
}

#[tokio::test]
async fn other_settings_stay_when_details_are_taken_up() {
    let hub = endpoint("hub").await;
    let stored = [("drafts", "true"), ("colour", "blue"), ("aggregated", "{\"http://h/\":null}")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let change =
        CollectionChange { settings: Some(stored.clone().into()), ..CollectionChange::default() };
    hub.change_collection(&notes(), change).await.unwrap();
    assert!(hub.adopt_details(&notes(), &details("feed")).await.unwrap());
    let settings = hub.collection(&notes()).await.unwrap().settings;
    assert!(stored.iter().all(|(name, value)| settings.get(name) == Some(value)), "{settings:?}");
    assert_eq!(settings.len(), stored.len() + 3);
}
