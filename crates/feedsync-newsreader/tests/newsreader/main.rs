//! What newsreaders ask, as it was recorded from them, and how they are answered.

mod arbitrary;
mod bounds;
mod google;
mod google_atom;
mod google_liferea;
mod miniflux;
mod nextcloud;
mod support;
mod ttrss;
mod ttrss_answers;
