//! The guarantees of the contract as tests, for any store.
//!
//! A store of everything runs all of them with one line:
//!
//! ```ignore
//! fn open(environment: Arc<dyn Environment>) -> Fixture { ... }
//! feedsync_store::store_tests!(open);
//! ```
//!
//! A store that implements one part of the contract runs the tests of that part:
//! [`item_store_tests`](crate::item_store_tests), [`people_tests`](crate::people_tests),
//! [`log_tests`](crate::log_tests) or [`database_tests`](crate::database_tests). Its constructor returns a
//! `Fixture<MyStore>`.
//!
//! The constructor creates an empty store of the endpoint `tester`, which mints its first incarnation from
//! the environment's first random number. A new collection takes the random number of its epoch, and then
//! those of its feed id. Ids of remotes and of discarded items count from 1. The memory store does the same,
//! and the tests compare each store with it.

pub mod altering;
pub mod change_order;
pub mod collections;
pub mod databases;
pub use databases::{history, schedule};
#[cfg(feature = "queries")]
pub use databases::{indexes, views};
pub mod identity;
pub mod items;
pub mod log_generations;
pub mod log_model;
pub mod log_records;
pub mod logs;
pub mod model;
pub mod notices;
pub mod people;
pub mod purges;
pub mod samples;
pub mod test_environment;
pub mod updates;

use std::any::Any;
use std::sync::Arc;

use crate::{Environment, Store};
pub use test_environment::TestEnvironment;

/// A store under test: a type, or a trait object such as `dyn Store`.
pub struct Fixture<S: ?Sized = dyn Store> {
    /// The store.
    pub store: Arc<S>,
    /// Values that must live as long as the store.
    pub kept: Box<dyn Any + Send>,
}

/// Creates a store.
pub type Constructor<S = dyn Store> = fn(Arc<dyn Environment>) -> Fixture<S>;

/// Runs a future to completion on this thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime on this thread")
        .block_on(future)
}

/// Defines the conformance tests of [`ItemStore`](crate::ItemStore).
#[macro_export]
macro_rules! item_store_tests {
    ($constructor:expr) => {
        $crate::conformance_cases!($constructor;
            altering: [
                collection_changes_are_decided_on_its_current_state
                a_collection_with_an_unknown_owner_is_not_created
            ]
            collections: [
                collections_are_found_by_name
                a_renamed_collection_keeps_what_it_holds
                a_dropped_collection_takes_everything_but_the_ledger
                epochs_never_repeat_even_if_the_clock_runs_backwards
                a_collection_that_does_not_exist_is_named
                remotes_are_remembered
                of_all_who_see_a_subscription_due_one_reads_it
                blobs_are_kept_while_somebody_names_them
                a_blob_asked_for_or_put_again_is_young_again
                blobs_that_items_name_and_that_are_not_here_are_listed
            ]
            notices: [
                changes_are_noticed
                changes_that_followers_cannot_see_cause_no_notice
            ]
            items: [
                an_item_comes_back_as_it_went_in
                changes_come_in_their_order_within_their_bounds
                pages_end_at_either_limit
                the_whole_collection_is_read_by_id
                a_listing_shows_the_newest_first
                recent_changes_begin_after_the_last_one_left_out
                a_listing_selects
            ]
            updates: [
                each_change_takes_the_next_number
                a_decision_without_writes_changes_nothing
                a_faulty_decision_changes_nothing
                a_decision_that_panics_changes_nothing
                a_value_comes_out_of_a_decision
                a_snapshot_shows_what_was_written_before
                counts_follow_the_items
                moments_of_changes_strictly_increase
                moments_follow_a_clock_that_was_ahead
                the_sent_mark_never_decreases_or_exceeds_the_last_change
            ]
            purges: [
                a_purge_moves_the_horizon_and_leaves_the_vector
                vectors_of_repeated_purges_are_united
                discarded_items_can_be_recovered
                discarding_puts_subscribers_out_of_step
                the_ledger_keeps_the_highest_sequence
                the_ledger_survives_purge_and_drop
                the_ledger_knows_what_was_shown
                a_shared_item_is_of_mixed_origin_and_keeps_its_number
                an_incarnation_retires_and_stays_own
            ]
            model: [ any_sequence_of_operations_gives_what_the_memory_store_gives ]
            change_order: [
                no_follower_misses_or_repeats_a_change
                a_reader_sees_what_was_acknowledged
            ]
        );
    };
}

/// Defines the conformance tests of [`People`](crate::People) for a store that is an
/// [`ItemStore`](crate::ItemStore) too, since roles belong to collections.
#[macro_export]
macro_rules! people_tests {
    ($constructor:expr) => {
        $crate::conformance_cases!($constructor;
            people: [
                users_are_found_by_name
                the_last_administrator_stays
                roles_follow_users_and_collections
                tokens_end_with_what_they_are_for
                acts_are_recorded_and_read_newest_first
                changes_of_collections_are_recorded_with_them
            ]
        );
    };
}

/// Defines the conformance tests of [`Logs`](crate::Logs) for a store that is an
/// [`ItemStore`](crate::ItemStore) too, since logs belong to collections.
#[macro_export]
macro_rules! log_tests {
    ($constructor:expr) => {
        $crate::conformance_cases!($constructor;
            logs: [
                a_log_is_appended_to_where_it_stands
                of_all_who_expect_a_log_at_one_place_one_appends
                a_log_is_read_in_parts
                reads_during_appends_see_complete_appends
                a_log_grows_no_further_than_it_may
                an_append_is_known_by_its_key
            ]
            log_generations: [
                a_generation_stays_until_it_is_swept
                so_many_generations_are_kept
                compacting_goes_on_within_a_day
                a_removed_log_begins_again_later
                a_snapshot_gives_way_to_a_younger_one
                a_log_goes_with_its_collection
                a_log_begins_later_than_those_that_were_dropped
                changes_of_a_log_are_noticed
            ]
            log_model: [
                any_sequence_of_operations_on_items_and_logs_gives_what_the_memory_store_gives
            ]
        );
    };
}

/// Defines the conformance tests of [`Databases`](crate::Databases).
#[macro_export]
macro_rules! database_tests {
    ($constructor:expr) => {
        $crate::conformance_cases!($constructor;
            databases: [
                any_use_of_databases_gives_what_the_memory_store_gives
                a_database_is_created_with_its_history_and_its_owner
                attachments_that_nothing_names_go_from_all_databases
                decisions_about_a_database_never_apply_to_a_later_one_of_the_same_name
            ]
            history: [
                past_states_equal_the_states_of_a_model
                other_reads_do_not_see_the_history
                ended_revisions_are_listed_newest_first
                a_history_that_is_switched_off_is_removed
                the_oldest_known_moment_follows_a_clock_that_is_set_back
            ]
        );
    };
}

/// Defines the conformance tests of indexes of [`Databases`](crate::Databases).
#[cfg(feature = "queries")]
#[macro_export]
macro_rules! index_tests {
    ($constructor:expr) => {
        $crate::conformance_cases!($constructor;
            indexes: [ any_use_of_databases_leaves_indexes_that_equal_a_scan ]
        );
    };
}

/// Without the feature `queries` there are no indexes.
#[cfg(not(feature = "queries"))]
#[macro_export]
macro_rules! index_tests {
    ($constructor:expr) => {};
}

/// Defines the conformance tests of views of [`Databases`](crate::Databases).
#[cfg(feature = "queries")]
#[macro_export]
macro_rules! view_tests {
    ($constructor:expr) => {
        $crate::conformance_cases!($constructor;
            views: [
                any_updates_of_views_give_what_a_model_gives
                stale_updates_of_views_are_refused
                unsound_updates_of_views_fail
                of_concurrent_updates_one_is_applied
                pages_of_rows_end_at_any_limit
                a_database_stores_a_limited_number_of_views
                contents_of_other_nodes_stay
                rows_of_removed_documents_are_not_stored
                contents_that_were_computed_before_a_removal_are_not_stored
            ]
        );
    };
}

/// Without the feature `queries` there are no views.
#[cfg(not(feature = "queries"))]
#[macro_export]
macro_rules! view_tests {
    ($constructor:expr) => {};
}

/// Defines the tests that the four parts of a [`Store`](crate::Store) are consistent with each other.
#[macro_export]
macro_rules! together_tests {
    ($constructor:expr) => {
        $crate::conformance_cases!($constructor;
            identity: [
                a_later_user_of_the_same_name_inherits_nothing
                bytes_and_documents_of_a_user_are_counted
                a_bridged_database_follows_its_collection
                any_use_of_databases_counts_for_their_owner
            ]
            log_records: [ beginning_compacting_and_removing_a_log_are_recorded ]
        );
    };
}

/// Defines all conformance tests of a [`Store`](crate::Store).
#[macro_export]
macro_rules! store_tests {
    ($constructor:expr) => {
        $crate::item_store_tests!($constructor);
        $crate::people_tests!($constructor);
        $crate::log_tests!($constructor);
        $crate::database_tests!($constructor);
        $crate::index_tests!($constructor);
        $crate::view_tests!($constructor);
        $crate::together_tests!($constructor);
    };
}

/// Defines tests that call functions of the modules of [`conformance`](crate::conformance).
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($constructor:expr; $($module:ident: [$($case:ident)*])*) => {
        $(mod $module {
            #[allow(unused_imports, reason = "the constructor may be a path or a closure")]
            use super::*;
            $(#[test]
            fn $case() {
                $crate::conformance::$module::$case($constructor);
            })*
        })*
    };
}
