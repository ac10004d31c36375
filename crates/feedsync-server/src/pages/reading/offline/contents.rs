//! `/pages/reading/offline/contents`: the texts of listed articles.

use axum::extract::State;
use axum::response::Response;
use feedsync_aggregator::StoredArticle;
use feedsync_reader_api::ArticleNumber;
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::json;
use crate::access::call::Call;
use crate::http::html::content::{RenderedArticle, RenderedContent, of_text, short};
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::reading::article::purpose;
use crate::pages::reading::reading;
use crate::reading::articles::is_web;

/// Maximum number of articles in one response.
const MAX_ARTICLES: usize = 100;

/// Size of a response after which no further article is added, in bytes.
const MAX_BYTES: usize = 4 << 20;

/// An article. Times are in milliseconds since 1970.
#[derive(Serialize)]
struct OfflineArticle {
    number: i64,
    feed: i64,
    /// Identifier of the article in the reading log.
    name: String,
    at: u64,
    title: String,
    author: Option<String>,
    link: Option<String>,
    /// Content that is safe on a page.
    html: String,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let numbers = numbers(call.query.text("numbers").unwrap_or_default())?;
    let reading = reading(&hub, &call).await?;
    let found = reading.kept(&numbers).await?;
    // With the root of the hub, pictures are loaded from there.
    let root = (call.query.text("pictures") == Some("1")).then_some(call.base.path());
    let articles: Vec<_> = found
        .into_iter()
        .map(|(article, feed)| {
            let purpose = purpose(&article, feed, root);
            (article, purpose)
        })
        .collect();
    let ticket = hub.cleaning.admit().await?;
    let made = spawn_blocking(move || {
        let (mut shown, mut bytes) = (Vec::new(), 0);
        for (article, purpose) in articles {
            let content = RenderedArticle::of(&article.text, &purpose, &ticket);
            let article = offline_article(article, content.shown);
            bytes += article.html.len();
            if bytes > MAX_BYTES && !shown.is_empty() {
                break;
            }
            shown.push(article);
        }
        shown
    });
    json(permit, &call, &made.await.map_err(|_| Problem::internal())?)
}

fn numbers(text: &str) -> Result<Vec<ArticleNumber>, Problem> {
    let numbers: Result<Vec<ArticleNumber>, _> = text.split(',').map(str::parse).collect();
    let numbers = numbers.map_err(|_| {
        Problem::bad_request("numbers must be numbers of articles, separated by commas")
    })?;
    if numbers.len() > MAX_ARTICLES {
        return Err(Problem::bad_request(format!(
            "at most {MAX_ARTICLES} articles are sent at once"
        )));
    }
    Ok(numbers)
}

fn offline_article(article: StoredArticle, content: RenderedContent) -> OfflineArticle {
    let StoredArticle { number, feed, name, sort_date, text, .. } = article;
    OfflineArticle {
        number: number.get(),
        feed: feed.get(),
        name: name.to_string(),
        at: sort_date.get(),
        title: short(text.title.as_deref().unwrap_or_default(), 400),
        author: text.author.map(|author| short(&author, 200)),
        link: text.link.filter(|link| is_web(link)),
        html: match content {
            RenderedContent::Html(html) => html,
            RenderedContent::Text(text) => of_text(&text),
            RenderedContent::Nothing | RenderedContent::Other { .. } => String::new(),
        },
    }
}
