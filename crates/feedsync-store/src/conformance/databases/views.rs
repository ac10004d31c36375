//! Views: any updates leave rows, counts and contents of nodes that follow from a simple model.

mod examples;
mod model;
mod operations;

use std::sync::Arc;

pub use self::examples::{
    a_database_stores_a_limited_number_of_views, contents_of_other_nodes_stay,
    contents_that_were_computed_before_a_removal_are_not_stored,
    of_concurrent_updates_one_is_applied, pages_of_rows_end_at_any_limit,
    rows_of_removed_documents_are_not_stored, stale_updates_of_views_are_refused,
    unsound_updates_of_views_fail,
};
use self::model::Model;
use self::operations::operations;
use super::{for_any_uses, named};
use crate::Databases;
use crate::conformance::{Constructor, TestEnvironment};

/// Any sequence of operations leaves the rows, counts and contents of nodes of the model.
pub fn any_updates_of_views_give_what_a_model_gives(open: Constructor<impl Databases + ?Sized>) {
    for_any_updates_of_views(20, open, |_| ());
}

/// Carries out some sequences of any operations on views. `check` gets the store at the end of each.
pub fn for_any_updates_of_views<S: Databases + ?Sized>(
    cases: u32,
    open: Constructor<S>,
    check: impl Fn(&S),
) {
    for_any_uses(cases, operations(), |operations| {
        let fixture = open(Arc::new(TestEnvironment::new(7)));
        let store = &*fixture.store;
        let mut model = Model::default();
        for operation in &operations {
            model.carry_out(store, operation)?;
            for name in [0, 1].map(named) {
                model.check(store, &name)?;
            }
        }
        check(store);
        Ok(())
    });
}
