//! Parses requests by their operation.

use std::time::Duration;

use super::select::{category, headlines, label, selection, stream};
use super::{Call, FeedsRequest, MAX_COMPACT_HEADLINES, Request, Toggled};
use crate::fault::Fault;
use crate::marking::Marking;
use crate::members::Members;
use crate::raw_request::RawRequest;
use crate::shown::{ArticleNumber, FeedNumber, FolderNumber};

/// Prefix that may precede the path of the interface.
const PREFIXES: &[&str] = &["tt-rss"];

const DAY: Duration = Duration::from_secs(86_400);

/// Parses a request.
pub fn read(raw_request: &RawRequest<'_>) -> Result<Call, Fault> {
    if !matches!(raw_request.path_below(PREFIXES).trim_end_matches('/'), "api" | "api/index.php") {
        return Err(raw_request.not_found());
    }
    raw_request.only(&["POST"])?;
    let members = Members::of(raw_request)?;
    let seq = members.number("seq").ok().flatten().unwrap_or_default();
    let session = members.text("sid").ok().flatten().filter(|session| !session.is_empty());
    Ok(Call { seq, session: session.map(Into::into), request: request(&members) })
}

fn request(members: &Members) -> Result<Request, Fault> {
    let operation = members.needed_text("op")?;
    let is_set = |name| Ok(members.flag(name)?.unwrap_or_default());
    Ok(match &*operation.to_ascii_lowercase() {
        "login" => Request::Login {
            user: members.needed_text("user")?,
            password: members.needed_text("password")?.into(),
        },
        "logout" => Request::Logout,
        "isloggedin" => Request::IsLoggedIn,
        "getapilevel" => Request::ApiLevel,
        "getversion" => Request::Version,
        "getunread" => Request::Unread(stream(members, "-4")?),
        "getcounters" => Request::Counters,
        "getfeeds" => Request::Feeds(FeedsRequest {
            category: category(members.number("cat_id")?.unwrap_or_default())?,
            unread_only: is_set("unread_only")?,
            offset: size(members, "offset")?.unwrap_or_default(),
            limit: size(members, "limit")?,
        }),
        "getcategories" => Request::Categories {
            unread_only: is_set("unread_only")?,
            include_empty: is_set("include_empty")?,
        },
        "getheadlines" => Request::Headlines(Box::new(headlines(members)?)),
        "getcompactheadlines" => {
            Request::CompactHeadlines(selection(members, MAX_COMPACT_HEADLINES)?)
        }
        "getarticle" => Request::Articles(members.some_articles("article_id")?),
        "updatearticle" => update(members)?,
        "getconfig" => Request::Config,
        "getpref" => Request::Pref,
        "updatefeed" => Request::UpdateFeed(feed(members)?),
        "catchupfeed" => {
            let days = match &*members.text("mode")?.unwrap_or_default() {
                "1day" => Some(1),
                "1week" => Some(7),
                "2week" => Some(14),
                "all" | "" => None,
                _ => return Err(Fault::of("mode", "must be all, 1day, 1week or 2week")),
            };
            members.needed_text("feed_id")?;
            let older_than = days.map(|days| DAY * days);
            Request::Catchup { stream: stream(members, "")?, older_than }
        }
        "getlabels" => {
            let article = members.number("article_id")?.filter(|article| *article > 0);
            Request::Labels { article: article.map(ArticleNumber::new) }
        }
        "setarticlelabel" => Request::SetLabel {
            articles: members.some_articles("article_ids")?,
            tag: label(members.needed_number("label_id")?)
                .ok_or(Fault::of("label_id", "not the number of a label"))?,
            is_added: is_set("assign")?,
        },
        "subscribetofeed" => subscribe(members)?,
        "unsubscribefeed" => Request::Unsubscribe(feed(members)?),
        "getfeedtree" => Request::Tree { include_empty: is_set("include_empty")? },
        _ => {
            let shown = operation.floor_char_boundary(200);
            return Err(Fault::NotFound { path: operation[..shown].to_owned() });
        }
    })
}

fn update(members: &Members) -> Result<Request, Fault> {
    let articles = members.some_articles("article_ids")?;
    let field = members.needed_number("field")?;
    let mode = members.needed_number("mode")?;
    let is_set = match mode {
        0 => Some(false),
        1 => Some(true),
        2 => None,
        _ => return Err(Fault::of("mode", "must be 0, 1 or 2")),
    };
    Ok(match (field, is_set) {
        (0, Some(is_starred)) => Request::Mark(Marking::starred(articles, is_starred)),
        (0, None) => Request::Toggle { articles, toggled: Toggled::Starred },
        (1, _) => Request::Mark(Marking { articles, ..Marking::default() }),
        (2, Some(is_unread)) => Request::Mark(Marking::read(articles, !is_unread)),
        (2, None) => Request::Toggle { articles, toggled: Toggled::Read },
        (3 | 4, _) => {
            return Err(Fault::of("field", "notes and scores of articles are not supported"));
        }
        _ => return Err(Fault::of("field", "must be 0, 1 or 2")),
    })
}

fn subscribe(members: &Members) -> Result<Request, Fault> {
    for name in ["login", "password"] {
        if members.text(name)?.is_some_and(|text| !text.is_empty()) {
            return Err(Fault::of(
                name,
                "not supported; put the credentials into the address of the feed",
            ));
        }
    }
    let address = members.needed_text("feed_url")?;
    let address = address.parse().map_err(|error| Fault::of("feed_url", error))?;
    let folder = members.number("category_id")?.filter(|folder| *folder > 0);
    Ok(Request::Subscribe { address, folder: folder.map_or(FolderNumber::TOP, FolderNumber::new) })
}

fn feed(members: &Members) -> Result<FeedNumber, Fault> {
    members.needed_number("feed_id").map(FeedNumber::new)
}

/// Parses a size; zero and negative numbers count as absent.
pub(super) fn size(members: &Members, name: &'static str) -> Result<Option<usize>, Fault> {
    let number = members.number(name)?.filter(|number| *number > 0);
    Ok(number.map(|number| usize::try_from(number).unwrap_or(usize::MAX)))
}
