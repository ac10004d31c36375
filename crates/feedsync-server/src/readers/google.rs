//! `/reader/google/`: the API of Google Reader.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::FoundFeed;
use feedsync_reader_api::google::{self, Request, SubscriptionEdit, SubscriptionOperation};
use feedsync_reader_api::{RawResponse, Stream};
use feedsync_reading_state::{Action, Folder, ImportPolicy};
use futures_util::future::join_all;
use http::Method;

use super::{NewsreaderRequest, dialect_response, sign_in};
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
    dialect_response(carry_out(&hub, &call, sent).await, google::refuse)
}

async fn carry_out(
    hub: &Hub,
    call: &Call,
    sent: NewsreaderRequest,
) -> Result<RawResponse, Refusal> {
    let google::Call { request, token } = google::read(&sent.asked())?;
    if let Request::SignIn(given) = &request {
        let token = sign_in::token(hub, call, &given.name, given.password.as_str()).await?;
        return Ok(match token {
            Some(token) => google::signed_in(&token, given.is_json),
            None => google::wrong_password(),
        });
    }
    let token = token.as_ref().map(feedsync_reader_api::Secret::as_str);
    let principal = sign_in::principal(hub, call, token).await?;
    let name = principal.user().map_or("reader", |user| user.as_str()).to_owned();
    let mut reading = Reading::of(hub, call, &principal).await?;
    Ok(match request {
        // It was handled above.
        Request::SignIn(_) => google::wrong_password(),
        // A client that returns the token authenticates itself in the head.
        Request::Token => google::token("feedsync"),
        Request::UserInfo => google::user_info(&name, &name),
        Request::Subscriptions => google::subscriptions(&reading.subscriptions()),
        Request::Edit(edit) if edit.operation == SubscriptionOperation::Subscribe => {
            // A slow site must not block the reading of other requests.
            drop(sent);
            reading.subscribe_all(edit).await?
        }
        Request::Edit(edit) => reading.edit(edit).await?,
        Request::QuickAdd(address) => {
            drop(sent);
            let added = match reading.find(&address).await? {
                Discovery::Known(known) => Ok(reading
                    .subscription_view
                    .feed_at(&known)
                    .map(|feed| reading.subscription(feed))),
                Discovery::New(found) => Ok(reading.subscribe_to(found, None, None).await?),
                Discovery::NotFound(error) => Err(error.to_string()),
            };
            let added =
                added.and_then(|added| added.ok_or("no subscription to this feed".to_owned()));
            google::quick_added(&address, added.as_ref().map_err(String::as_str))
        }
        Request::Export => google::export(reading.person.opml("Subscriptions").await?),
        Request::Import(list) => {
            reading.person.subscribe(&list, ImportPolicy::KeepExisting).await?;
            reading.refresh().await?;
            google::imported(list.feeds.len())
        }
        Request::Tags => google::tags(&reading.folders, reading.subscription_view.tags()),
        Request::RenameTag { from, to } => {
            reading.rename(&from, &to).await?;
            google::done()
        }
        Request::DisableTag(labels) => {
            for label in &labels {
                reading.delete_label(label).await?;
            }
            google::done()
        }
        Request::Mark(marking) => {
            reading.mark(&marking).await?;
            google::done()
        }
        Request::MarkAllRead { stream, up_to } => {
            reading.mark_all(&stream, up_to).await?;
            google::done()
        }
        Request::UnreadCounts => google::unread_counts(&reading.subscriptions()),
        Request::Contents(listing) => {
            let selected = reading.select(&listing.selection).await?;
            let (articles, next) = reading.shown(&selected).await?;
            let feeds = reading.sources();
            let title = reading.title(&listing.selection.stream);
            google::contents(&listing.stream, &title, &articles, &feeds, next)
        }
        Request::Atom(listing) => {
            let selected = reading.select(&listing.selection).await?;
            let (articles, next) = reading.shown(&selected).await?;
            let feeds = reading.sources();
            let title = reading.title(&listing.selection.stream);
            google::atom(&listing.stream, &title, &articles, &feeds, next)
        }
        Request::Ids(selection) => {
            let selected = reading.select(&selection).await?;
            let articles = selected.listed.iter().map(|listed| (listed.number, listed.sort_date));
            google::ids(articles, selected.next)
        }
        Request::Items { articles, by_liferea } => {
            let articles = reading.articles(&articles).await?;
            google::items(&articles, &reading.sources(), by_liferea)
        }
        Request::Count(stream) => {
            let all = feedsync_reader_api::Selection::newest(stream, usize::MAX);
            google::count(reading.select(&all).await?.listed.len() as u64)
        }
        Request::Preferences => google::preferences(),
        Request::StreamPreferences => google::stream_preferences(),
        Request::Friends => google::friends(),
    })
}

/// Maximum number of feeds in a request that are fetched before the subscription. A longer list is handled
/// like an OPML import, without fetching.
const MAX_FOUND: usize = 10;

impl Reading {
    /// Subscribes to all readable feeds of a request. The response is 400 if one cannot be read.
    async fn subscribe_all(&mut self, edit: SubscriptionEdit) -> Result<RawResponse, Refusal> {
        let folder: Option<Folder> = edit.add.iter().find_map(|label| label.folder().ok());
        let named = edit.feeds.into_iter().filter_map(|(name, title)| {
            let address = self.address(&name)?;
            Some((address, title))
        });
        let named: Vec<_> = named.collect();
        let reading = &*self;
        let is_long = named.len() > MAX_FOUND;
        let readable = named.iter().map(|(given, _)| async move {
            Ok(match is_long {
                true => Ok(given.clone()),
                false => match reading.find(given).await? {
                    // An existing subscription gets the title and the folder.
                    Discovery::Known(address) | Discovery::New(FoundFeed { address, .. }) => {
                        Ok(address)
                    }
                    Discovery::NotFound(error) => {
                        Err(format!("cannot subscribe to {}: {error}", given.as_str()))
                    }
                },
            })
        });
        let readable: Vec<Result<_, Refusal>> = join_all(readable).await;
        let mut refused = None;
        for ((_, title), readable) in named.into_iter().zip(readable) {
            match readable? {
                Ok(address) => self.subscribe(address, title, folder.clone()).await?,
                Err(reason) => refused = refused.or(Some(reason)),
            }
        }
        Ok(match refused {
            Some(reason) => google::refuse(400, &reason),
            None => google::done(),
        })
    }

    async fn edit(&mut self, edit: SubscriptionEdit) -> Result<RawResponse, Refusal> {
        let folder: Option<Folder> = edit.add.iter().find_map(|label| label.folder().ok());
        for (name, title) in edit.feeds {
            let Some(address) = self.address(&name) else { continue };
            match edit.operation {
                // `subscribe_all` handled it.
                SubscriptionOperation::Subscribe => {}
                SubscriptionOperation::Unsubscribe => {
                    self.file(vec![(address, Action::Unsubscribe)]).await?
                }
                SubscriptionOperation::Edit => {
                    let mut actions = Vec::new();
                    if title.is_some() {
                        actions.push((address.clone(), Action::Rename { title }));
                    }
                    let is_in = self.subscription_view.feed_at(&address).is_some_and(|feed| {
                        let removed = |label| {
                            self.folders.find_by_name(label) == Some(&feed.subscription.folder)
                        };
                        edit.remove.iter().any(removed)
                    });
                    let folder = folder.clone().or_else(|| is_in.then_some(Folder::TOP));
                    actions.extend(folder.map(|folder| (address, Action::Move { folder })));
                    self.file(actions).await?;
                }
            }
        }
        Ok(google::done())
    }

    /// Title of a stream.
    fn title(&self, stream: &Stream) -> String {
        match stream {
            Stream::Feed(name) => self.feed(name).map_or("", |feed| feed.title()).to_owned(),
            Stream::Label(label) => label.as_str().to_owned(),
            Stream::Starred => "Starred".to_owned(),
            Stream::Read => "Read".to_owned(),
            _ => "Articles".to_owned(),
        }
    }
}
