//! Tests of the text of articles from their web pages.

mod hostile;
mod labelled;
