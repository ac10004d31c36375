//! Tests with recorded requests of newsreaders, and of the responses.

mod arbitrary;
mod bounds;
mod fever;
mod google;
mod google_atom;
mod google_liferea;
mod miniflux;
mod nextcloud;
mod support;
mod ttrss;
mod ttrss_answers;
