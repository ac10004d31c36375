//! A browser without scripts: it stores cookies and posts the forms of pages.

use std::collections::BTreeMap;
use std::sync::Mutex;

use axum::Router;
use axum::body::Body;
use http::{Method, Response, StatusCode, header};
use tower::ServiceExt as _;

use crate::hub::{bytes, request, text};

pub(crate) struct Visitor {
    router: Router,
    cookies: Mutex<BTreeMap<String, String>>,
}

impl Visitor {
    pub(crate) fn new(router: &Router) -> Self {
        Self { router: router.clone(), cookies: Mutex::default() }
    }

    /// A browser whose user signed in with a password.
    pub(crate) async fn signed_in(router: &Router, user: &str, password: &str) -> Self {
        let visitor = Self::new(router);
        let answer = visitor.sign_in(user, password, "/").await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{user}");
        visitor
    }

    pub(crate) async fn sign_in(&self, user: &str, password: &str, to: &str) -> Response<Body> {
        self.post("/pages/login", &[("user", user), ("password", password), ("to", to)]).await
    }

    /// Response to a request for a page.
    pub(crate) async fn get(&self, path: &str) -> Response<Body> {
        let accept = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        self.ask(Method::GET, path, &[accept], Body::empty()).await
    }

    /// A page with status 200.
    pub(crate) async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        html(answer).await
    }

    /// Posts a form of a page, with its form token.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response<Body> {
        let form = self.form(path).await;
        let all: Vec<_> = fields.iter().copied().chain([("form", &*form)]).collect();
        self.send(path, &all).await
    }

    /// Posts only these fields.
    pub(crate) async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Response<Body> {
        let encoded =
            |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
        let pairs: Vec<_> =
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", "http://localhost:4287"),
            ("accept", "text/html"),
        ];
        self.ask(Method::POST, path, &headers, pairs.join("&").into()).await
    }

    /// Form token of this browser, the same on each page.
    pub(crate) async fn form(&self, path: &str) -> String {
        for place in [path, "/", "/pages/users", "/pages/login"] {
            let answer = self.get(place).await;
            if answer.status() == StatusCode::OK
                && let Some(form) = hidden(&html(answer).await, "form")
            {
                return form;
            }
        }
        panic!("no page has a form");
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.lock().unwrap().get(name).cloned()
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Response<Body> {
        let pairs: Vec<_> = {
            let cookies = self.cookies.lock().unwrap();
            cookies.iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        let cookies = pairs.join("; ");
        let mut headers = headers.to_vec();
        if !cookies.is_empty() {
            headers.push(("cookie", &cookies));
        }
        let answer =
            self.router.clone().oneshot(request(method, path, &headers, body)).await.unwrap();
        let mut kept = self.cookies.lock().unwrap();
        for cookie in answer.headers().get_all(header::SET_COOKIE) {
            let cookie = cookie.to_str().unwrap();
            let (pair, attributes) = cookie.split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            for attribute in ["Path=/", "HttpOnly", "SameSite=Strict"] {
                assert!(attributes.contains(attribute), "{cookie}");
            }
            match attributes.contains("Max-Age=0;") {
                true => kept.remove(name),
                false => kept.insert(name.to_owned(), value.to_owned()),
            };
        }
        drop(kept);
        answer
    }
}

pub(crate) async fn html(response: Response<Body>) -> String {
    assert_eq!(text(&response, "content-type"), "text/html; charset=utf-8");
    String::from_utf8(bytes(response).await.to_vec()).unwrap()
}

/// Value of the first hidden field of a name.
pub(crate) fn hidden(page: &str, name: &str) -> Option<String> {
    let begin = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&begin)?;
    Some(rest.split_once('"')?.0.replace("&#39;", "'").replace("&#38;", "&"))
}
