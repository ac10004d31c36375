//! `_all_dbs`: the names of the databases that whoever asks may use.

use axum::response::Response;
use feedsync_couch::{DatabaseName, quoted};
use feedsync_store::Database;
use http::Method;

use super::pieces::{self, Pieces};
use super::rights::Need;
use super::{Asked, Failure};

/// So many databases are looked at at once.
const PAGE: usize = 1_000;

/// Names, as far as they were not told yet.
struct Names {
    asked: Asked,
    /// The last one that was looked at.
    after: Option<DatabaseName>,
    skip: u64,
    left: Option<u64>,
    is_first: bool,
    is_over: bool,
}

pub(super) async fn answer(asked: &Asked) -> Result<Response, Failure> {
    asked.method_of(&[Method::GET])?;
    let (skip, left) = (asked.parameters.count("skip")?, asked.parameters.count("limit")?);
    let names = Names {
        asked: asked.clone(),
        after: None,
        skip: skip.unwrap_or(0),
        left,
        is_first: true,
        is_over: left == Some(0),
    };
    pieces::answer(asked, names, String::from("[")).await
}

impl Pieces for Names {
    const END: &'static str = "]\n";

    fn database(&self) -> Option<&Database> {
        None
    }

    fn may_be_large(&self) -> bool {
        false
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        let page = self.asked.databases.databases(self.after.as_ref(), PAGE).await?;
        self.is_over = page.is_empty();
        for database in page {
            if self.asked.may(&database, Need::Use).await? {
                if self.skip > 0 {
                    self.skip -= 1;
                } else {
                    text.push_str(if self.is_first { "" } else { "," });
                    self.is_first = false;
                    text.push_str(&quoted(database.name.as_str()));
                    self.left = self.left.map(|left| left - 1);
                }
            }
            self.after = Some(database.name);
            if self.left == Some(0) {
                self.is_over = true;
                return Ok(());
            }
        }
        Ok(())
    }
}
