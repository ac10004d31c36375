//! Reads the columns of rows. Values that cannot be converted are reported as damage.

use std::fmt::Display;
use std::str::FromStr;

use feedsync_log::Millis;
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_store::postgres_support::Row;
use feedsync_store::postgres_support::types::FromSql;

use crate::library::error::LibraryError;
use crate::library::listing::ListEntry;
use crate::library::stored::{damaged, parse};

/// Reads the columns of a row in sequence.
pub(super) struct Columns<'r> {
    row: &'r Row,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(super) fn of(row: &'r Row) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn get<T: FromSql<'r>>(&mut self) -> Result<T, LibraryError> {
        self.next += 1;
        Ok(self.row.try_get(self.next - 1)?)
    }

    /// Reads a number of a smaller range.
    pub(super) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, LibraryError> {
        let number: i64 = self.get()?;
        T::try_from(number).map_err(|_| LibraryError::Damaged(format!("{number} is out of range")))
    }

    pub(super) fn feed(&mut self) -> Result<FeedNumber, LibraryError> {
        self.get().map(FeedNumber::new)
    }

    pub(super) fn article(&mut self) -> Result<ArticleNumber, LibraryError> {
        self.get().map(ArticleNumber::new)
    }

    pub(super) fn moment(&mut self) -> Result<Millis, LibraryError> {
        Ok(Millis::new(self.number()?))
    }

    pub(super) fn optional_moment(&mut self) -> Result<Option<Millis>, LibraryError> {
        let moment: Option<i64> = self.get()?;
        Ok(moment.map(|moment| Millis::new(moment.cast_unsigned())))
    }

    /// Reads a text that is stored as bytes.
    pub(super) fn text(&mut self) -> Result<String, LibraryError> {
        text(self.get()?)
    }

    pub(super) fn optional_text(&mut self) -> Result<Option<String>, LibraryError> {
        self.get::<Option<&[u8]>>()?.map(text).transpose()
    }

    /// Reads a value that is stored as the bytes of its text.
    pub(super) fn parsed<T: FromStr<Err: Display>>(&mut self) -> Result<T, LibraryError> {
        parse(&self.text()?)
    }

    /// Reads the first columns of an entry of a list: number, feed, date of publication, sort date.
    pub(super) fn listed(&mut self) -> Result<ListEntry, LibraryError> {
        Ok(ListEntry {
            number: self.article()?,
            feed: self.feed()?,
            published: self.moment()?,
            sort_date: self.moment()?,
        })
    }
}

fn text(bytes: &[u8]) -> Result<String, LibraryError> {
    let text = str::from_utf8(bytes).map_err(|error| damaged("a text", error))?;
    Ok(text.to_owned())
}

/// The column of an optional text.
pub(super) fn bytes(text: &Option<String>) -> Option<&[u8]> {
    text.as_deref().map(str::as_bytes)
}
