//! Subscribed feeds by folder, as the page of subscriptions and the side of the other pages list them.

use std::collections::HashMap;

use feedsync_aggregator::{FeedView, PollState};
use feedsync_reader_api::FolderNumber;
use feedsync_reading_state::Folder;

use super::list::{List, ListSource};
use super::{feed_page, home, time};
use crate::http::html::content::short;
use crate::pages::answer::Time;
use crate::reading::Reading;

/// Maximum number of feeds beside an article or a list.
const MAX_BESIDE: usize = 300;

/// The feeds of a folder.
pub(super) struct Group {
    /// Name of the folder; none for feeds without a folder.
    pub(super) name: Option<String>,
    pub(super) page: String,
    pub(super) unread: u64,
    /// Whether this is the list that the page shows.
    pub(super) is_current: bool,
    pub(super) rows: Vec<Row>,
}

pub(super) struct Row {
    pub(super) title: String,
    pub(super) page: String,
    pub(super) settings: String,
    pub(super) icon: String,
    pub(super) unread: u64,
    pub(super) fault: Option<String>,
    pub(super) failures: u32,
    pub(super) is_gone: bool,
    /// What can be done about the fault.
    pub(super) advice: &'static str,
    pub(super) checked: Option<Time>,
    /// Whether this is the list that the page shows.
    pub(super) is_current: bool,
}

/// The feeds beside a list or an article: those with unread articles, and the one that is shown.
pub(super) struct Sidebar {
    pub(super) groups: Vec<Group>,
    /// Address of the list of all articles.
    pub(super) all: String,
    pub(super) is_all_current: bool,
    pub(super) unread: u64,
    /// Number of further feeds with unread articles.
    pub(super) left_out: usize,
}

impl Sidebar {
    /// The feeds beside a list, or beside an article that was opened from it.
    pub(super) fn of(reading: &Reading, root: &str, list: &List) -> Self {
        let is_current = |feed: &FeedView| list.of == ListSource::Feed(feed.number());
        let is_shown = |feed: &FeedView| feed.unread > 0 || is_current(feed);
        let mut groups = groups(reading, root, MAX_BESIDE, is_shown);
        let listed: usize = groups.iter().map(|group| group.rows.len()).sum();
        let all = reading.subscription_view.feeds().iter().filter(|feed| is_shown(feed)).count();
        let page = List::new(list.of.clone()).page(root);
        for group in &mut groups {
            group.is_current = group.page == page;
            for row in &mut group.rows {
                row.is_current = row.page == page;
            }
        }
        Self {
            groups,
            all: List::new(ListSource::All).page(root),
            is_all_current: list.of == ListSource::All,
            unread: reading.subscription_view.feeds().iter().map(|feed| feed.unread).sum(),
            left_out: all - listed,
        }
    }
}

/// The feeds without a folder that are to be shown, then those of each folder; not more than a maximum number. The
/// numbers of unread articles are of all feeds of a folder.
pub(super) fn groups(
    reading: &Reading,
    root: &str,
    mut most: usize,
    is_shown: impl Fn(&FeedView) -> bool,
) -> Vec<Group> {
    let mut by_folder: HashMap<&Folder, Vec<&FeedView>> = HashMap::new();
    for feed in reading.subscription_view.feeds() {
        by_folder.entry(&feed.subscription.folder).or_default().push(feed);
    }
    let named = reading.folders.iter().filter_map(|shown| {
        let folder = reading.folders.find_by_number(shown.number)?;
        Some((Some(shown.name.to_string()), shown.number, folder))
    });
    let group = |(name, number, folder): (Option<String>, FolderNumber, &Folder)| {
        let inside = by_folder.get(folder)?;
        let unread = inside.iter().map(|feed| feed.unread).sum();
        let shown = inside.iter().filter(|feed| is_shown(feed)).take(most);
        let rows: Vec<_> = shown.map(|feed| row(feed, root)).collect();
        most -= rows.len();
        let page = List::new(ListSource::Folder(number)).page(root);
        (!rows.is_empty()).then_some(Group { name, page, unread, is_current: false, rows })
    };
    const TOP: (Option<String>, FolderNumber, &Folder) = (None, FolderNumber::TOP, &Folder::TOP);
    std::iter::once(TOP).chain(named).filter_map(group).collect()
}

fn row(feed: &FeedView, root: &str) -> Row {
    let state = &feed.kept.state;
    Row {
        title: short(feed.title(), 120),
        page: List::new(ListSource::Feed(feed.number())).page(root),
        settings: feed_page(root, feed.number()),
        icon: format!("{}/icons/{}", home(root), feed.number()),
        unread: feed.unread,
        fault: state.fault.clone(),
        failures: state.failures,
        is_gone: state.gone,
        advice: advice(state),
        checked: state.checked.map(time),
        is_current: false,
    }
}

/// Number of failures in a row after which a fault is not temporary.
const MANY_FAILURES: u32 = 10;

/// What can be done about the fault of a feed.
fn advice(state: &PollState) -> &'static str {
    match state.failures {
        _ if state.gone => {
            "Its server says that it is gone for good. Look for another feed on its site, or unsubscribe. \
             Its articles stay until you do."
        }
        0 => "Its readable articles are shown. The site has to correct the others.",
        failures if failures < MANY_FAILURES => {
            "It is checked again, at longer intervals each time. There is nothing to do yet."
        }
        _ => {
            "It has failed often. Look on its site whether the feed has another address, subscribe to that, and \
             unsubscribe from this one. Otherwise it is still checked at long intervals."
        }
    }
}
