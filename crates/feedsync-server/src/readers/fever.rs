//! `/reader/fever/`: the Fever API.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedsync_reader_api::fever::{self, Favicon, Items, MAX_IDS, Mark, Request};
use feedsync_reader_api::{
    ArticleNumber, Fault, FeedNumber, Order, RawResponse, Secret, Selection, Stream,
};
use http::{Method, StatusCode};

use super::{NewsreaderRequest, answered, sign_in};
use crate::access::call::Call;
use crate::http::multipart::{self, MultipartForm};
use crate::http::problem::Problem;
use crate::http::query::encoded;
use crate::hub::Hub;
use crate::reading::{Reading, Refusal};

/// Media type of an ordinary form.
const FORM: &str = "application/x-www-form-urlencoded";

/// Maximum total size of the icons in one response, in bytes.
const MAX_ICON_BYTES: usize = 8 << 20;

pub(crate) async fn answer(
    State(hub): State<Hub>,
    method: Method,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let is_get = matches!(method, Method::GET | Method::HEAD);
    let sent = NewsreaderRequest::read(&hub, &call, method, body).await?.with_urlencoded_form()?;
    let asked = match fever::read(&sent.asked()) {
        Ok(asked) => asked,
        Err(fault @ Fault::NotFound { .. }) => return Err(Problem::not_found(fault.to_string())),
        Err(fault) => return Err(Problem::bad_request(fault.to_string())),
    };
    if is_get {
        return Ok(answered(fever::not_signed_in()));
    }
    match carry_out(&hub, &call, asked).await {
        Ok(answer) => Ok(answered(answer)),
        Err(Refusal::Fault(fault)) => Err(Problem::bad_request(fault.to_string())),
        Err(Refusal::Problem(problem)) => match problem.status() {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                Ok(answered(fever::not_signed_in()))
            }
            _ => Err(problem),
        },
    }
}

impl NewsreaderRequest {
    /// The same, with the fields of a `multipart/form-data` form as an ordinary form. NewsFlash sends such forms.
    fn with_urlencoded_form(self) -> Result<Self, Problem> {
        let Some(boundary) = self.content_type.as_deref().and_then(multipart::boundary) else {
            return Ok(self);
        };
        let form = MultipartForm::parse(&self.body, boundary).ok_or_else(|| {
            Problem::bad_request("the body is not a valid multipart/form-data form")
        })?;
        let fields =
            form.texts().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        let body = fields.collect::<Vec<_>>().join("&").into_bytes();
        Ok(Self { content_type: Some(FORM.to_owned()), body, ..self })
    }
}

async fn carry_out(hub: &Hub, call: &Call, asked: fever::Call) -> Result<RawResponse, Refusal> {
    let fever::Call { key, request } = asked;
    let principal = sign_in::fever_principal(hub, call, key.as_ref().map(Secret::as_str)).await?;
    let mut reading = Reading::of(hub, call, &principal).await?;
    let request = match request {
        Ok(request) => request,
        Err(fault) => {
            let response = fever::Response::new(&reading.subscriptions());
            return Ok(response.error(&fault.to_string()).finish());
        }
    };
    if let Some(mark) = &request.mark {
        reading.make_mark(mark).await?;
        reading.refresh().await?;
    }
    reading.lists(request).await
}

impl Reading {
    /// Makes a mark. Unknown feeds and folders have no articles.
    async fn make_mark(&self, mark: &Mark) -> Result<(), Refusal> {
        match mark {
            Mark::Article(marking) => self.mark(marking).await,
            Mark::Stream { stream, up_to } if self.feeds_of(stream).is_some() => {
                self.mark_all(stream, *up_to).await
            }
            Mark::Stream { .. } => Ok(()),
        }
    }

    /// Response with the requested lists.
    async fn lists(&self, request: Request) -> Result<RawResponse, Refusal> {
        let feeds = self.subscriptions();
        let mut response = fever::Response::new(&feeds);
        if request.groups {
            response = response.groups(&self.folders, &feeds);
        }
        if request.feeds {
            response = response.feeds(&feeds, &self.icon_numbers());
        }
        if request.favicons {
            response = response.favicons(&self.favicons().await?);
        }
        if let Some(items) = &request.items {
            let articles = match items {
                Items::Selected(selection) => self.shown(&self.select(selection).await?).await?.0,
                Items::Numbered(numbers) => self.articles(numbers).await?,
            };
            let total = self.total(&Selection::newest(Stream::All, 1)).await?;
            response = response.items(&articles, total);
        }
        if request.links {
            response = response.links();
        }
        if request.unread_ids {
            response = response.unread(self.numbers(Stream::Unread).await?.into_iter());
        }
        if request.saved_ids {
            response = response.saved(self.numbers(Stream::Starred).await?.into_iter());
        }
        Ok(response.finish())
    }

    /// Numbers of the articles of a stream, the newest first.
    async fn numbers(&self, stream: Stream) -> Result<Vec<ArticleNumber>, Refusal> {
        let newest = Selection { order: Order::Number, ..Selection::newest(stream, MAX_IDS) };
        Ok(self.select(&newest).await?.listed.iter().map(|listed| listed.number).collect())
    }

    /// Numbers of the icons of feeds: feeds of one site have the same icon.
    fn icon_numbers(&self) -> BTreeMap<FeedNumber, FeedNumber> {
        let mut sites: BTreeMap<String, FeedNumber> = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        for feed in self.subscription_view.feeds() {
            let icon = sites.entry(feed.site().to_string()).or_insert_with(|| feed.number());
            numbers.insert(feed.number(), *icon);
        }
        numbers
    }

    /// Icons that the hub has; if they exceed [`MAX_ICON_BYTES`], the first ones that fit.
    async fn favicons(&self) -> Result<Vec<Favicon>, Refusal> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        let numbers = self.icon_numbers();
        for number in numbers.iter().filter(|(feed, icon)| feed == icon).map(|(feed, _)| *feed) {
            let Some(icon) = self.icon(number).await? else { continue };
            bytes += icon.bytes.len();
            if bytes > MAX_ICON_BYTES {
                break;
            }
            let media_type = icon.media_type.to_string();
            found.push(Favicon { number, media_type, data: STANDARD.encode(icon.bytes) });
        }
        Ok(found)
    }
}
