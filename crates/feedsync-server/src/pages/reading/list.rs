//! A list of articles, encoded in an address.

use feedsync_reader_api::{ArticleNumber, FeedName, FeedNumber, FolderNumber, Selection, Stream};
use feedsync_reading_state::Tag;

use super::home;
use crate::http::problem::Problem;
use crate::http::query::{Query, encoded};
use crate::reading::Reading;

/// Source of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListSource {
    All,
    Feed(FeedNumber),
    /// The feeds of a folder; those without a folder for the top level.
    Folder(FolderNumber),
    Starred,
    Tag(Tag),
}

/// A list of articles, without a position in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List {
    pub(super) of: ListSource,
    /// Whether read articles are shown. By default they are hidden in lists of feeds, unless words are
    /// given.
    pub(super) shows_read: bool,
    pub(super) oldest_first: bool,
    /// Words that the articles must contain.
    pub(super) words: String,
    /// Whether articles that are opened from this list show pictures. This is stored in the address only.
    pub(super) with_pictures: bool,
    /// Whether an article shows the full text from its web page. Links to other articles do not have it.
    pub(super) with_full_text: bool,
}

impl List {
    pub(super) fn new(of: ListSource) -> Self {
        let shows_read = !of.is_of_feeds();
        Self {
            of,
            shows_read,
            oldest_first: false,
            words: String::new(),
            with_pictures: false,
            with_full_text: false,
        }
    }

    /// Reads the parameters of an address.
    pub(super) fn read(query: &Query) -> Result<Self, Problem> {
        let number = |name| {
            let text = query.text(name);
            let number = text.map(|text| text.parse::<FeedNumber>().map(FeedNumber::get));
            number.transpose().map_err(|error| Problem::parameter(name, error.to_string()))
        };
        let tag = query.text("tag").map(str::parse::<Tag>).transpose();
        let tag = tag.map_err(|error| Problem::parameter("tag", error.to_string()))?;
        let is_set = |name| matches!(query.text(name), Some("1" | "on"));
        let mut lists = Vec::new();
        lists.extend(number("feed")?.map(|feed| ListSource::Feed(FeedNumber::new(feed))));
        lists.extend(number("folder")?.map(|folder| ListSource::Folder(FolderNumber::new(folder))));
        lists.extend(tag.map(ListSource::Tag));
        lists.extend(is_set("starred").then_some(ListSource::Starred));
        if lists.len() > 1 {
            let detail =
                "a list shows only one of: a feed, a folder, a tag, or the starred articles";
            return Err(Problem::bad_request(detail));
        }
        let words = query.text("q").unwrap_or_default().trim().to_owned();
        let of = lists.pop().unwrap_or(ListSource::All);
        let shows_read = match query.text("show") {
            Some("all") => true,
            Some("unread") => false,
            _ => !of.is_of_feeds() || !words.is_empty(),
        };
        let oldest_first = query.text("order") == Some("oldest");
        let with_pictures = is_set("pictures");
        let with_full_text = query.text("text") == Some("full");
        Ok(Self { of, shows_read, oldest_first, words, with_pictures, with_full_text })
    }

    /// Query for the library, with a maximum number of articles.
    pub(super) fn selection(&self, count: usize) -> Selection {
        let stream = match &self.of {
            ListSource::All => Stream::All,
            ListSource::Feed(feed) => Stream::Feed(FeedName::Number(*feed)),
            ListSource::Folder(folder) => Stream::Folder(*folder),
            ListSource::Starred => Stream::Starred,
            ListSource::Tag(tag) => Stream::Tag(tag.clone()),
        };
        let mut selection = Selection::newest(stream, count);
        selection.descending = !self.oldest_first;
        selection.search = Some(self.words.clone()).filter(|words| !words.is_empty());
        if !self.shows_read {
            selection.include.push(Stream::Unread);
        }
        selection
    }

    /// Title of the list; 404 for an unknown feed or folder.
    pub(super) fn title(&self, reading: &Reading) -> Result<String, Problem> {
        let unknown = |what: &str| Problem::not_found(format!("there is no such {what} here"));
        Ok(match &self.of {
            ListSource::All => "All articles".to_owned(),
            ListSource::Feed(feed) => {
                let feed = reading.subscription_view.feed(*feed).ok_or_else(|| unknown("feed"))?;
                feed.title().to_owned()
            }
            ListSource::Folder(FolderNumber::TOP) => "No folder".to_owned(),
            ListSource::Folder(number) => {
                let folder = reading.folders.find_by_number(*number);
                let shown = folder.and_then(|folder| reading.folders.shown(folder));
                shown.ok_or_else(|| unknown("folder"))?.name.to_string()
            }
            ListSource::Starred => "Starred".to_owned(),
            ListSource::Tag(tag) => tag.as_str().to_owned(),
        })
    }

    /// Parameter that names the source.
    pub(super) fn part(&self) -> Option<(&'static str, String)> {
        match &self.of {
            ListSource::All => None,
            ListSource::Feed(feed) => Some(("feed", feed.to_string())),
            ListSource::Folder(folder) => Some(("folder", folder.to_string())),
            ListSource::Starred => Some(("starred", "1".to_owned())),
            ListSource::Tag(tag) => Some(("tag", tag.as_str().to_owned())),
        }
    }

    /// Address of the list.
    pub(super) fn page(&self, root: &str) -> String {
        format!("{}/articles{}", home(root), self.query())
    }

    /// Address of an article in the list.
    pub(super) fn article(&self, root: &str, article: ArticleNumber) -> String {
        format!("{}/articles/{article}{}", home(root), self.query())
    }

    fn query(&self) -> String {
        let mut parameters = Vec::new();
        parameters.extend(self.part());
        if !self.words.is_empty() {
            parameters.push(("q", self.words.clone()));
        }
        let usual = Self { words: self.words.clone(), ..Self::new(self.of.clone()) };
        let shows_read = usual.shows_read || !self.words.is_empty();
        if self.shows_read != shows_read {
            parameters.push(("show", if self.shows_read { "all" } else { "unread" }.to_owned()));
        }
        if self.oldest_first {
            parameters.push(("order", "oldest".to_owned()));
        }
        if self.with_pictures {
            parameters.push(("pictures", "1".to_owned()));
        }
        if self.with_full_text {
            parameters.push(("text", "full".to_owned()));
        }
        let pairs: Vec<_> =
            parameters.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }
}

impl ListSource {
    /// Whether its source is feeds. Such a list shows only unread articles by default.
    fn is_of_feeds(&self) -> bool {
        matches!(self, Self::All | Self::Feed(_) | Self::Folder(_))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(page: &str) -> Result<List, Problem> {
        List::read(&Query::parse(page.split_once('?').map(|(_, query)| query)).unwrap())
    }

    proptest! {
        /// The address of any list encodes all of it.
        #[test]
        fn an_address_says_the_whole_list(
            of in prop_oneof![
                Just(ListSource::All),
                Just(ListSource::Starred),
                any::<i64>().prop_map(|number| ListSource::Feed(FeedNumber::new(number))),
                any::<i64>().prop_map(|number| ListSource::Folder(FolderNumber::new(number))),
                "[a-z&=%+ü?#]{1,9}".prop_map(|tag| ListSource::Tag(tag.parse().unwrap())),
            ],
            [shows_read, oldest_first, with_pictures, with_full_text] in any::<[bool; 4]>(),
            words in "([a-z&=%+ü?#]{1,9})?",
        ) {
            let list = List { of, shows_read, oldest_first, words, with_pictures, with_full_text };
            prop_assert_eq!(&read(&list.page("")).unwrap(), &list);
            prop_assert_eq!(&read(&list.article("/hub", ArticleNumber::new(3))).unwrap(), &list);
        }
    }

    #[test]
    fn invalid_list_parameters_are_refused_by_name() {
        for query in ["?feed=x", "?feed=", "?folder=1.5", "?tag=", "?feed=1&starred=1"] {
            assert!(read(query).is_err(), "{query}");
        }
        assert_eq!(read("?show=some&order=none").unwrap(), List::new(ListSource::All));
        let search = read("?q=+milk+").unwrap();
        assert!(search.words == "milk" && search.shows_read);
    }
}
