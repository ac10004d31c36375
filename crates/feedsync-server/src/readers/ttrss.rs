//! `/reader/ttrss/`: the API of Tiny Tiny RSS.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::{FindError, FoundFeed};
use feedsync_reader_api::ttrss::{self, Request, Subscribed, Toggled, Unread};
use feedsync_reader_api::{
    Article, Fault, FeedName, RawResponse, Selection, ShownTag, Stream, Tags,
};
use feedsync_reading_state::{Action, FeedAddress, Folder};
use http::{Method, StatusCode};

use super::{NewsreaderRequest, answered, sign_in};
use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::reading::discovery::Discovery;
use crate::reading::{Reading, Refusal};

/// Path of icons.
const ICONS: &str = "feed-icons";

pub(crate) async fn answer(
    State(hub): State<Hub>,
    method: Method,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let sent = NewsreaderRequest::read(&hub, &call, method, body).await?;
    let asked = match ttrss::read(&sent.asked()) {
        Ok(asked) => asked,
        Err(Fault::NotFound { path }) => {
            return Err(Problem::not_found(format!("no resource has the path {path:?}")));
        }
        Err(fault) => {
            let refusal = ttrss::Refusal::IncorrectUsage;
            return Ok(answered(ttrss::refuse(0, refusal, Some(&fault.to_string()))));
        }
    };
    let seq = asked.seq;
    match carry_out(&hub, &call, asked).await {
        Ok(answer) => Ok(answered(answer)),
        Err(Refusal::Fault(fault)) => {
            let refusal = match fault {
                Fault::NotFound { .. } => ttrss::Refusal::UnknownMethod,
                _ => ttrss::Refusal::IncorrectUsage,
            };
            Ok(answered(ttrss::refuse(seq, refusal, Some(&fault.to_string()))))
        }
        Err(Refusal::Problem(problem)) => Ok(answered(match problem.status() {
            StatusCode::UNAUTHORIZED => ttrss::refuse(seq, ttrss::Refusal::NotLoggedIn, None),
            StatusCode::FORBIDDEN => ttrss::refuse(seq, ttrss::Refusal::ApiDisabled, None),
            _ => return Err(problem),
        })),
    }
}

async fn carry_out(hub: &Hub, call: &Call, asked: ttrss::Call) -> Result<RawResponse, Refusal> {
    let ttrss::Call { seq, session, request } = asked;
    let request = request?;
    if let Request::Login { user, password } = &request {
        let Some(token) = sign_in::token(hub, call, user, password.as_str()).await? else {
            return Ok(ttrss::refuse(seq, ttrss::Refusal::LoginError, None));
        };
        return Ok(ttrss::logged_in(seq, &token, ICONS, 0));
    }
    let session = session.as_ref().map(feedsync_reader_api::Secret::as_str);
    let principal = match sign_in::principal(hub, call, session).await {
        Err(_) if request == Request::IsLoggedIn => return Ok(ttrss::is_logged_in(seq, false)),
        principal => principal?,
    };
    let mut reading = Reading::of(hub, call, &principal).await?;
    let tags = Tags::new(reading.subscription_view.tags());
    let done = ttrss::done(seq);
    Ok(match request {
        // It was handled above.
        Request::Login { .. } => ttrss::refuse(seq, ttrss::Refusal::LoginError, None),
        Request::Logout => {
            sign_in::end(hub, call, &principal, session).await?;
            done
        }
        Request::IsLoggedIn => ttrss::is_logged_in(seq, true),
        Request::ApiLevel => ttrss::level(seq),
        Request::Version => ttrss::version(seq),
        Request::Unread(stream) => ttrss::unread(seq, reading.count_unread(stream).await?),
        Request::Counters => {
            let counts = reading.counts(&tags).await?;
            ttrss::counters(seq, &reading.subscriptions(), &reading.folders, &counts.as_unread())
        }
        Request::Feeds(asked) => {
            let counts = reading.counts(&tags).await?;
            ttrss::feeds(seq, &asked, &reading.subscriptions(), &counts.as_unread())
        }
        Request::Categories { unread_only, include_empty } => {
            let counts = reading.counts(&tags).await?;
            let shown = (unread_only, include_empty);
            let feeds = reading.subscriptions();
            ttrss::categories(seq, shown, &feeds, &reading.folders, &counts.as_unread())
        }
        Request::Headlines(asked) => {
            let selected = reading.select(&asked.selection).await?;
            let (articles, _) = reading.shown(&selected).await?;
            ttrss::headlines(seq, &asked, &articles, &reading.sources(), &tags)
        }
        Request::CompactHeadlines(selection) => {
            let listed = reading.select(&selection).await?.listed;
            ttrss::compact_headlines(seq, listed.iter().map(|listed| listed.number))
        }
        Request::Articles(numbers) => {
            let articles = reading.articles(&numbers).await?;
            ttrss::articles(seq, &articles, &reading.sources(), &tags)
        }
        Request::Mark(marking) => {
            reading.mark(&marking).await?;
            ttrss::updated(seq, marking.articles.len())
        }
        Request::Toggle { articles, toggled } => {
            let articles = reading.articles(&articles).await?;
            reading.toggle(&articles, toggled).await?;
            ttrss::updated(seq, articles.len())
        }
        Request::Config => ttrss::config(seq, ICONS, reading.subscription_view.feeds().len()),
        Request::Pref => ttrss::pref(seq),
        Request::UpdateFeed(feed) => {
            reading.make_due(&[feed]).await?;
            done
        }
        Request::Catchup { stream, older_than } => {
            let millis = older_than.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
            let up_to = millis.map(|millis| reading.now.before(millis));
            reading.mark_all(&stream, up_to).await?;
            done
        }
        Request::Labels { article } => {
            let articles = reading.articles(article.as_slice()).await?;
            let of_article = articles.first().map(|article| &*article.tags).unwrap_or_default();
            ttrss::labels(seq, &tags, of_article)
        }
        Request::SetLabel { articles, tag, is_added } => match tags.find_by_number(tag) {
            Some(tag) => {
                let acted = reading.person.tag(&articles, tag, is_added).await?;
                ttrss::updated(seq, acted.changed)
            }
            None => ttrss::updated(seq, 0),
        },
        Request::Subscribe { address, folder } => {
            let outcome = match reading.folder(folder) {
                Some(folder) => reading.subscribe_at(&address, folder).await?,
                None => Subscribed::Failed,
            };
            ttrss::subscribed(seq, outcome)
        }
        Request::Unsubscribe(feed) => match reading.address(&FeedName::Number(feed)) {
            Some(address) => {
                reading.file(vec![(address, Action::Unsubscribe)]).await?;
                done
            }
            None => {
                ttrss::refuse(seq, ttrss::Refusal::OperationFailed, Some("there is no such feed"))
            }
        },
        Request::Tree { include_empty } => {
            let counts = reading.counts(&tags).await?;
            let feeds = reading.subscriptions();
            ttrss::tree(seq, include_empty, &feeds, &reading.folders, &counts.as_unread())
        }
    })
}

/// Numbers of unread articles outside feeds.
struct Counts {
    starred: u64,
    fresh: u64,
    tags: Vec<(ShownTag, u64)>,
}

impl Counts {
    fn as_unread(&self) -> Unread<'_> {
        Unread { starred: self.starred, fresh: self.fresh, tags: &self.tags }
    }
}

impl Reading {
    async fn subscribe_at(
        &mut self,
        address: &FeedAddress,
        folder: Folder,
    ) -> Result<Subscribed, Refusal> {
        let number =
            |reading: &Self, address| Some(reading.subscription_view.feed_at(address)?.number());
        Ok(match self.find(address).await? {
            Discovery::Known(known) => {
                number(self, &known).map_or(Subscribed::NoFeed, Subscribed::Before)
            }
            Discovery::New(FoundFeed { address, .. }) => {
                self.subscribe(address.clone(), None, Some(folder)).await?;
                number(self, &address).map_or(Subscribed::NoFeed, Subscribed::Now)
            }
            Discovery::NotFound(FindError::NoFeed) => Subscribed::NoFeed,
            Discovery::NotFound(FindError::Unreadable(_)) => Subscribed::Unreadable,
            Discovery::NotFound(_) => Subscribed::Failed,
        })
    }

    async fn count_unread(&self, stream: Stream) -> Result<u64, Refusal> {
        let mut unread = Selection::newest(stream, usize::MAX - 1);
        unread.include.push(Stream::Unread);
        Ok(self.select(&unread).await?.listed.len() as u64)
    }

    async fn counts(&self, tags: &Tags) -> Result<Counts, Refusal> {
        let mut counted = Vec::new();
        for shown in tags.iter() {
            let unread = self.count_unread(Stream::Tag(shown.tag.clone())).await?;
            counted.push((shown.clone(), unread));
        }
        Ok(Counts {
            starred: self.count_unread(Stream::Starred).await?,
            fresh: self.count_unread(Stream::Fresh).await?,
            tags: counted,
        })
    }

    /// Inverts a mark of each article.
    async fn toggle(&self, articles: &[Article], toggled: Toggled) -> Result<(), Refusal> {
        let is = |article: &Article| match toggled {
            Toggled::Read => article.is_read,
            Toggled::Starred => article.is_starred,
        };
        for becomes in [true, false] {
            let those = articles.iter().filter(|article| is(article) != becomes);
            let numbers: Vec<_> = those.map(|article| article.number).collect();
            match toggled {
                Toggled::Read => self.person.mark(&numbers, becomes).await?,
                Toggled::Starred => self.person.star(&numbers, becomes).await?,
            };
        }
        Ok(())
    }
}
