//! `GET /pages/limits`: the limits of this hub, for people.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;

use crate::access::call::Call;
use crate::config::Limits;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::{Frame, page};

#[derive(Template)]
#[template(path = "limits.html")]
struct LimitsPage {
    frame: Frame,
    rows: Vec<Row>,
}

struct Row {
    name: &'static str,
    value: String,
    doc: String,
}

pub(crate) async fn read(State(hub): State<Hub>, call: Call) -> Result<Response, Problem> {
    let permit = hub.response_budget.permit().await?;
    let rows = Limits::settings()
        .into_iter()
        .map(|setting| Row {
            name: setting.name.rsplit('.').next().unwrap_or_default(),
            value: (setting.show)(&hub.config).trim_matches('"').to_owned(),
            // The page has no markup for code.
            doc: setting.doc.replace('`', ""),
        })
        .collect();
    let frame = Frame::of(&hub, &call).await?;
    page(permit, &call, StatusCode::OK, move || LimitsPage { frame, rows }).await
}
