//! The guarantees of the contract as tests, for any backend.
//!
//! A backend runs all of them with one line:
//!
//! ```ignore
//! fn open(environment: Arc<dyn Environment>) -> Fixture { ... }
//! feedsync_store::store_tests!(open);
//! ```
//!
//! The constructor creates an empty store of the endpoint `tester`, which mints its first incarnation from
//! the environment's first random number.

pub mod altering;
pub mod change_order;
pub mod collections;
pub mod databases;
pub mod identity;
pub mod items;
pub mod log_generations;
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

/// A store under test.
pub struct Fixture {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Values that must live as long as the store.
    pub kept: Box<dyn Any + Send>,
}

/// Creates a store.
pub type Constructor = fn(Arc<dyn Environment>) -> Fixture;

/// Runs a future to completion on this thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime on this thread")
        .block_on(future)
}

/// Defines each conformance test for the backend of this constructor.
#[macro_export]
macro_rules! store_tests {
    ($constructor:expr) => {
        $crate::store_tests!(@cases $constructor;
            altering: [
                collection_changes_are_decided_on_its_current_state
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
            people: [
                users_are_found_by_name
                the_last_administrator_stays
                roles_follow_users_and_collections
                tokens_end_with_what_they_are_for
                acts_are_recorded_and_read_newest_first
            ]
            identity: [
                a_later_user_of_the_same_name_inherits_nothing
                bytes_and_documents_of_a_user_are_counted
                a_bridged_database_follows_its_collection
            ]
            logs: [
                a_log_is_appended_to_where_it_stands
                of_all_who_expect_a_log_at_one_place_one_appends
                a_log_is_read_in_parts
                reads_during_appends_see_complete_appends
                a_log_grows_no_further_than_it_may
                an_append_is_known_by_its_key
                beginning_compacting_and_removing_a_log_are_recorded
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
            databases: [
                any_use_of_databases_gives_what_the_memory_store_gives
                attachments_that_nothing_names_go_from_all_databases
                decisions_about_a_database_never_apply_to_a_later_one_of_the_same_name
            ]
            model: [ any_sequence_of_operations_gives_what_the_memory_store_gives ]
            change_order: [
                no_follower_misses_or_repeats_a_change
                a_reader_sees_what_was_acknowledged
            ]
        );
    };
    (@cases $constructor:expr; $($module:ident: [$($case:ident)*])*) => {
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
