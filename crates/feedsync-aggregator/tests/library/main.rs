//! Tests of the interface of a library, with a comparison of its implementation to a model.

mod claims;
mod file;
mod keeping;
mod model;
mod order;
mod samples;
mod sequences;
mod settling;
mod walks;

use samples::Place;

/// Makes a test of each function, for each kind of library.
macro_rules! tests_of_each_kind {
    ($($module:ident: $($test:ident),+;)+) => {
        tests_of_each_kind! { sqlite; $($module: $($test),+;)+ }
        tests_of_each_kind! { postgres; $($module: $($test),+;)+ }
    };
    ($kind:ident; $($module:ident: $($test:ident),+;)+) => {
        mod $kind {
            $(mod $module {
                $(#[test]
                fn $test() {
                    crate::$module::$test(&crate::Place::$kind());
                })+
            })+
        }
    };
}

tests_of_each_kind! {
    claims:
        a_feed_is_claimed_once,
        claimed_feed_is_not_claimed_again;
    keeping:
        a_hold_of_a_host_is_kept_until_it_ends,
        a_long_feed_is_swept_and_forgotten_whole,
        icons_are_stored_by_site,
        numbers_are_never_reused,
        panicking_filter_affects_only_its_caller,
        sweep_deletes_articles_without_a_retention_rule,
        too_much_is_refused;
    order:
        a_follower_by_number_misses_no_article;
    sequences:
        library_equals_the_model;
    settling:
        a_date_in_the_future_does_not_stand_above_everything,
        changed_article_keeps_its_number_and_place,
        late_articles_are_placed_above_marked_ones,
        old_articles_are_placed_at_their_dates,
        oversized_poll_changes_nothing,
        refused_write_does_not_affect_others_in_the_commit;
    walks:
        articles_of_one_time_are_listed_by_number,
        paging_returns_each_article_once;
}

/// Runs a future to its end on this thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}
