//! Conversion between stored values and columns. Values that cannot be converted back are reported as damage.

use std::fmt::Display;
use std::str::FromStr;

use feedsync_log::Millis;
use rusqlite::Row;
use rusqlite::types::FromSql;

use crate::library::error::LibraryError;
use crate::library::stored::parse;
pub(super) use crate::library::stored::{damaged, moment};
use feedsync_reader_api::{ArticleNumber, FeedNumber};

/// Reads the columns of a row in sequence.
pub(super) struct Columns<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Columns<'r> {
    pub(super) fn of(row: &'r Row<'r>) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn get<T: FromSql>(&mut self) -> Result<T, LibraryError> {
        self.next += 1;
        Ok(self.row.get(self.next - 1)?)
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

    pub(super) fn parsed<T: FromStr<Err: Display>>(&mut self) -> Result<T, LibraryError> {
        self.next += 1;
        let text = self.row.get_ref(self.next - 1)?.as_str().map_err(rusqlite::Error::from)?;
        parse(text)
    }

    pub(super) fn optional_parsed<T: FromStr<Err: Display>>(
        &mut self,
    ) -> Result<Option<T>, LibraryError> {
        self.get::<Option<String>>()?.as_deref().map(parse).transpose()
    }
}
