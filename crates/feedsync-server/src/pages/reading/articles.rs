//! `/pages/reading/articles`: a list of articles, paged by position, and the forms that mark a part
//! of it.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::{FeedView, StoredArticle, UndoResult, UndoState};
use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, Continuation, Marking, Tags};
use http::StatusCode;

use super::folders::Sidebar;
use super::list::{List, ListSource};
use super::{beginning, feed_page, reading, time, with};
use crate::access::call::Call;
use crate::http::html::content::short;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, Time, page, see_other};
use crate::pages::assets::READING;
use crate::pages::form::Form;
use crate::reading::articles::{is_web, listed};
use crate::reading::marking::Part;
use crate::reading::{Reading, Refusal};

/// Number of articles of a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "articles.html")]
struct ArticlesPage {
    frame: Frame,
    script: &'static str,
    /// Address of the list from its beginning.
    page: String,
    /// Address of this page, and of its forms.
    here: String,
    title: String,
    said: String,
    /// Id of the action that the message is about, if it can be undone.
    undo: Option<u64>,
    sidebar: Sidebar,
    list: List,
    /// Address of the same search in all articles, if this is a search in a part of them.
    everywhere: Option<String>,
    part: Option<(&'static str, String)>,
    /// Page of the feed for the list of one feed, and the reason why it could not be read.
    feed: Option<(String, Option<String>)>,
    rows: Vec<Row>,
    /// Address of the next page.
    next: Option<String>,
    /// Whether this is not the first page.
    is_part: bool,
    /// The newest article when this page was made.
    last: ArticleNumber,
}

pub(super) struct Row {
    number: ArticleNumber,
    page: String,
    title: String,
    excerpt: String,
    feed: String,
    link: Option<String>,
    shown: Time,
    place: Continuation,
    is_read: bool,
    is_starred: bool,
    tags: Vec<String>,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let list = List::read(&call.query)?;
    let from = place(&call)?;
    let reading = reading(&hub, &call).await?;
    let title = list.title(&reading)?;
    let mut selection = list.selection(PAGE);
    selection.from = from;
    // It is read first, so that articles that arrive while the list is made count as not shown.
    let last = reading.last().await?;
    let found = reading.select(&selection).await?;
    let numbers: Vec<_> = found.listed.iter().map(|listed| listed.number).collect();
    let articles = reading.kept(&numbers).await?;
    let frame = Frame::of(&hub, &call).await?;
    let root = frame.root.clone();
    let of_feed = articles.into_iter().map(|(article, feed)| UnrenderedArticle::of(article, feed));
    let unwritten: Vec<_> = of_feed.collect();
    let address = list.page(&root);
    let feed = match &list.of {
        ListSource::Feed(number) => {
            let state = reading.subscription_view.feed(*number).map(|feed| &feed.kept.state);
            let failed = state.filter(|state| state.failures > 0 || state.gone);
            let fault = failed.and_then(|state| state.fault.clone());
            Some((feed_page(&root, *number), fault))
        }
        _ => None,
    };
    let here = match from {
        Some(from) => with(&address, "from", &from.to_string()),
        None => address.clone(),
    };
    let (said, undo) = notice(&call, &reading, &title);
    let sidebar = Sidebar::of(&reading, &root, &list);
    page(permit, &call, StatusCode::OK, move || ArticlesPage {
        script: &READING.name,
        next: found.next.map(|next| with(&address, "from", &next.to_string())),
        page: address,
        here,
        title,
        said,
        undo,
        sidebar,
        everywhere: (list.of != ListSource::All)
            .then(|| List { of: ListSource::All, shows_read: true, ..list.clone() }.page(&root)),
        part: list.part(),
        feed,
        rows: unwritten.into_iter().map(|one| one.row(&root, &list)).collect(),
        is_part: from.is_some(),
        last,
        list,
        frame,
    })
    .await
}

/// `POST`: marks one article, or a part of the list.
pub(crate) async fn mark(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let form = Form::read(&hub, &call, body).await?;
    let list = List::read(&call.query)?;
    let from = place(&call)?;
    let reading = reading(&hub, &call).await?;
    list.title(&reading)?;
    let named = |name: &str| {
        let number = Some(form.text(name)).filter(|text| !text.is_empty());
        let number = number.map(str::parse::<ArticleNumber>).transpose();
        number.map_err(|error| Problem::parameter(name, error.to_string()))
    };
    let placed = |name: &str| {
        let place = Some(form.text(name)).filter(|text| !text.is_empty());
        let place = place.map(str::parse::<Continuation>).transpose();
        place.map_err(|error| Problem::parameter(name, error.to_string()))
    };
    let markings = [
        named("read")?.map(|number| (Marking::read(vec![number], true), "read")),
        named("unread")?.map(|number| (Marking::read(vec![number], false), "unread")),
        named("star")?.map(|number| (Marking::starred(vec![number], true), "starred")),
        named("unstar")?.map(|number| (Marking::starred(vec![number], false), "unstarred")),
    ];
    let parts = [
        form.has("all").then_some(Part::Whole),
        placed("above")?.map(Part::Before),
        placed("below")?.map(Part::Behind),
    ];
    let mut undo = match form.text("undo") {
        "" => None,
        text => Some(undo_id(text)?),
    };
    let said = if let Some(id) = undo {
        match reading.person.undo(id).await.map_err(Refusal::from)? {
            UndoResult::Undone(_) => "undone",
            UndoResult::AlreadyUndone => "undone-before",
            UndoResult::Expired => "expired",
        }
    } else if let Some((marking, said)) = markings.into_iter().flatten().next() {
        reading.mark(&marking).await?;
        said
    } else if let Some(part) = parts.into_iter().flatten().next() {
        let last =
            named("last")?.ok_or_else(|| Problem::parameter("last", "the parameter is missing"))?;
        undo = reading.mark_part(&list.selection(0), part, last).await?;
        "all"
    } else {
        return Err(Problem::bad_request("the form has no such action"));
    };
    let mut address = list.page(call.base.path());
    if let Some(from) = from {
        address = with(&address, "from", &from.to_string());
    }
    let address = with(&address, "said", said);
    see_other(&match undo {
        Some(id) => with(&address, "undo", &id.to_string()),
        None => address,
    })
}

fn undo_id(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| Problem::parameter("undo", "the value is not the id of an action"))
}

/// Message about the form that led to the page, and the id of the action if it can be undone.
fn notice(call: &Call, reading: &Reading, title: &str) -> (String, Option<u64>) {
    let word = call.query.text("said").unwrap_or_default();
    let id = call.query.text("undo").and_then(|text| text.parse::<u64>().ok());
    let articles = |count: usize| match count {
        1 => format!("1 article of {title}"),
        _ => format!("{count} articles of {title}"),
    };
    match (word, id.and_then(|id| reading.person.undo_state(id))) {
        ("all", Some(UndoState::Possible(count))) => {
            let text = format!(
                "Marked {} as read. Articles that arrived since the list was loaded are not \
                 affected.",
                articles(count)
            );
            (text, id)
        }
        ("undone", Some(UndoState::Done(0))) => {
            ("Nothing was undone: the articles were marked again since then.".to_owned(), None)
        }
        ("undone", Some(UndoState::Done(count))) => {
            let verb = if count == 1 { "is" } else { "are" };
            (format!("Undone: {} {verb} unread again.", articles(count)), None)
        }
        _ => (said(word).to_owned(), None),
    }
}

fn place(call: &Call) -> Result<Option<Continuation>, Problem> {
    let place = call.query.text("from").map(str::parse::<Continuation>).transpose();
    place.map_err(|error| Problem::parameter("from", error.to_string()))
}

/// Message about the form that led to the page.
pub(super) fn said(word: &str) -> &'static str {
    match word {
        "read" => "Marked as read.",
        "unread" => "Marked as unread.",
        "starred" => "Starred.",
        "unstarred" => "Star removed.",
        "all" => {
            "Marked as read. Articles that arrived since the list was loaded are not affected."
        }
        "undone" => "Undone.",
        "undone-before" => "This was already undone. Nothing was changed.",
        "expired" => {
            "It is too late to undo this. An action can be undone for ten minutes, unless the hub restarts."
        }
        "tagged" => "Tagged.",
        "untagged" => "Tag removed.",
        _ => "",
    }
}

impl Reading {
    /// The newest article of all feeds.
    async fn last(&self) -> Result<ArticleNumber, Problem> {
        let last = self.newsreading.readers.library().before(Millis::MAX).await;
        let last = last.map_err(Refusal::from)?;
        Ok(last.unwrap_or(ArticleNumber::new(0)))
    }
}

/// An article of a list, before it is rendered.
struct UnrenderedArticle {
    article: StoredArticle,
    feed: String,
    is_read: bool,
    is_starred: bool,
    tags: Vec<String>,
}

impl UnrenderedArticle {
    fn of(article: StoredArticle, feed: &FeedView) -> Self {
        let tags = Tags::new(feed.marks.tags(article.number));
        Self {
            feed: feed.title().to_owned(),
            is_read: feed.marks.is_read(&listed(&article)),
            is_starred: feed.marks.is_starred(article.number),
            tags: tags.iter().map(|shown| shown.tag.as_str().to_owned()).collect(),
            article,
        }
    }

    fn row(self, root: &str, list: &List) -> Row {
        let Self { article, feed, is_read, is_starred, tags } = self;
        let place = article.place();
        Row {
            number: article.number,
            page: list.article(root, article.number),
            title: short(article.text.title.as_deref().unwrap_or_default(), 160),
            excerpt: beginning(&article.text, 200),
            feed: short(&feed, 80),
            link: article.text.link.filter(|link| is_web(link)),
            shown: time(article.sort_date),
            place: Continuation { at: place.sort_date, article: place.number },
            is_read,
            is_starred,
            tags,
        }
    }
}
