//! `/reader/nextcloud/`: the API of Nextcloud News.

use std::collections::{BTreeMap, HashMap, HashSet};

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::{MAX_LOADED, NamedArticle};
use feedsync_reader_api::nextcloud::{self, ItemName, Request};
use feedsync_reader_api::{
    ArticleNumber, FeedName, FeedNumber, Order, RawResponse, Selection, Stream,
};
use feedsync_reading_state::{Action, ArticleId};
use http::Method;

use super::{NewsreaderRequest, dialect_response};
use crate::access::Principal;
use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::reading::discovery::Discovery;
use crate::reading::{Reading, Refusal};

pub(crate) async fn answer(
    State(hub): State<Hub>,
    method: Method,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let sent = NewsreaderRequest::read(&hub, &call, method, body).await?;
    dialect_response(carry_out(&hub, &call, sent).await, nextcloud::refuse)
}

async fn carry_out(
    hub: &Hub,
    call: &Call,
    sent: NewsreaderRequest,
) -> Result<RawResponse, Refusal> {
    let request = nextcloud::read(&sent.asked())?;
    if matches!(call.principal, Principal::Anonymous) {
        return Err(Problem::sign_in().into());
    }
    let name = call.principal.user().map_or("reader", |user| user.as_str());
    let mut reading = Reading::of(hub, call, &call.principal).await?;
    let done = nextcloud::done();
    let unknown = |what: &str| nextcloud::refuse(404, &format!("unknown {what}"));
    Ok(match request {
        Request::Levels => nextcloud::levels(),
        Request::Version => nextcloud::version(),
        Request::Status => nextcloud::status(),
        Request::User => nextcloud::user(name),
        Request::Folders => nextcloud::folders(&reading.folders),
        Request::CreateFolder(label) if reading.folders.find_by_name(&label).is_some() => taken(),
        Request::CreateFolder(label) => match reading.create_folder(&label) {
            Some(folder) => nextcloud::created_folder(&folder),
            None => nextcloud::refuse(422, "invalid folder name"),
        },
        Request::RenameFolder(folder, label) => {
            let to = label.folder().ok();
            match (reading.folders.find_by_number(folder).cloned(), to) {
                (Some(from), _)
                    if reading.folders.find_by_name(&label).is_some_and(|to| *to != from) =>
                {
                    taken()
                }
                (Some(from), Some(to)) => {
                    reading.replace(&from, &to).await?;
                    done
                }
                (None, _) => unknown("folder"),
                (_, None) => nextcloud::refuse(422, "invalid folder name"),
            }
        }
        Request::DeleteFolder(number) => match reading.folders.find_by_number(number).cloned() {
            Some(folder) => {
                reading.person.remove_created_folder(&folder);
                let inside = reading.feeds_of(&Stream::Folder(number)).unwrap_or_default();
                let gone = inside.into_iter().map(|feed| feed.subscription.address.clone());
                let gone = gone.map(|address| (address, Action::Unsubscribe)).collect();
                reading.file(gone).await?;
                done
            }
            None => unknown("folder"),
        },
        Request::Feeds => {
            let starred =
                reading.select(&Selection::newest(Stream::Starred, usize::MAX - 1)).await?;
            let newest = reading.newest().await?;
            nextcloud::feeds(&reading.subscriptions(), starred.listed.len() as u64, newest)
        }
        Request::CreateFeed { address, folder } => match reading.folder(folder) {
            Some(folder) => {
                // A slow site must not block the reading of other requests.
                drop(sent);
                match reading.find(&address).await? {
                    Discovery::Known(_) => {
                        nextcloud::refuse(409, "there is already a subscription to this feed")
                    }
                    Discovery::NotFound(error) => nextcloud::refuse(422, &error.to_string()),
                    Discovery::New(found) => {
                        let newest = reading.newest().await?;
                        let feed = reading.subscribe_to(found, None, Some(folder)).await?;
                        let created = |feed| nextcloud::created_feed(&feed, newest);
                        feed.map_or_else(|| unknown("feed"), created)
                    }
                }
            }
            None => unknown("folder"),
        },
        Request::DeleteFeed(feed) => match reading.address(&FeedName::Number(feed)) {
            Some(address) => {
                reading.file(vec![(address, Action::Unsubscribe)]).await?;
                done
            }
            None => unknown("feed"),
        },
        Request::MoveFeed(feed, folder) => {
            match (reading.address(&FeedName::Number(feed)), reading.folder(folder)) {
                (Some(address), Some(folder)) => {
                    reading.file(vec![(address, Action::Move { folder })]).await?;
                    done
                }
                _ => unknown("feed or folder"),
            }
        }
        Request::RenameFeed(feed, title) => match reading.address(&FeedName::Number(feed)) {
            Some(address) => {
                reading.file(vec![(address, Action::Rename { title: Some(title) })]).await?;
                done
            }
            None => unknown("feed"),
        },
        Request::MarkRead { stream: Stream::Folder(folder), .. }
            if reading.folder(folder).is_none() =>
        {
            unknown("folder")
        }
        Request::MarkRead { stream: Stream::Feed(feed), .. } if reading.feed(&feed).is_none() => {
            unknown("feed")
        }
        Request::MarkRead { stream, up_to } => {
            reading.mark_up_to(&stream, up_to).await?;
            done
        }
        Request::Items(selection) => {
            let selected = reading.select(&selection).await?;
            nextcloud::items(&reading.shown(&selected).await?.0)
        }
        Request::Mark(marking) => {
            reading.mark(&marking).await?;
            done
        }
        Request::Star { items, is_starred } => {
            let numbers = reading.numbered(&items).await?;
            reading.person.star(&numbers, is_starred).await?;
            done
        }
    })
}

/// Response to a folder name that is already in use.
fn taken() -> RawResponse {
    nextcloud::refuse(409, "there is already a folder of this name")
}

impl Reading {
    /// Highest number among the articles of subscriptions.
    async fn newest(&self) -> Result<Option<ArticleNumber>, Refusal> {
        let newest = Selection { order: Order::Number, ..Selection::newest(Stream::All, 1) };
        Ok(self.select(&newest).await?.listed.first().map(|listed| listed.number))
    }

    /// Marks all articles of a stream up to this number. If that is the whole stream, it takes one record for
    /// each feed.
    async fn mark_up_to(&self, stream: &Stream, up_to: ArticleNumber) -> Result<(), Refusal> {
        let behind = Selection { above: Some(up_to), ..Selection::newest(stream.clone(), 1) };
        if self.select(&behind).await?.listed.is_empty() {
            return self.mark_all(stream, None).await;
        }
        let mut unread = Selection::newest(stream.clone(), crate::reading::marking::MAX_MARKED);
        unread.below = Some(ArticleNumber::new(up_to.get().saturating_add(1)));
        unread.include.push(Stream::Unread);
        let numbers: Vec<_> =
            self.select(&unread).await?.listed.iter().map(|listed| listed.number).collect();
        self.person.mark(&numbers, true).await?;
        Ok(())
    }

    /// Articles of names, or of hashes of names. Each feed is searched once, however many names there are.
    async fn numbered(&self, items: &[ItemName]) -> Result<Vec<ArticleNumber>, Refusal> {
        let library = self.newsreading.readers.library();
        let mut by_feed: BTreeMap<FeedNumber, Vec<&ItemName>> = BTreeMap::new();
        for item in items {
            by_feed.entry(item.feed).or_default().push(item);
        }
        let mut found = Vec::new();
        for (feed, items) in by_feed {
            let names = items.iter().flat_map(|item| &item.names);
            let names: Vec<_> = names.filter_map(|name| ArticleId::of(name)).collect();
            let named = library.numbered(feed, &names).await?;
            let known: HashMap<_, _> =
                named.into_iter().map(|named| (named.name, named.listed.number)).collect();
            let mut hashes = HashSet::new();
            for item in items {
                let known = |name: &String| known.get(&ArticleId::of(name)?).copied();
                match item.names.iter().find_map(known) {
                    Some(number) => found.push(number),
                    None => hashes.extend(&item.names),
                }
            }
            if hashes.is_empty() {
                continue;
            }
            let numbers: Vec<_> = match self.subscription_view.former_feed(feed) {
                Some(former) => former.marks.all_starred_or_tagged().collect(),
                None => {
                    let stream = Stream::Feed(FeedName::Number(feed));
                    let all = Selection::newest(stream, usize::MAX - 1);
                    self.select(&all).await?.listed.iter().map(|listed| listed.number).collect()
                }
            };
            for numbers in numbers.chunks(MAX_LOADED) {
                let named = library.named(numbers).await?;
                let is_it =
                    |named: &&NamedArticle| hashes.contains(&nextcloud::guid_hash(&named.name));
                found.extend(named.iter().filter(is_it).map(|named| named.listed.number));
            }
        }
        Ok(found)
    }
}
