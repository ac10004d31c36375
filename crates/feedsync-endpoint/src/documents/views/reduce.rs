//! Reductions of rows, by built-in functions or those of the design document.

use feedsync_couch::view::Reduction;
use feedsync_couch::{Refusal, RefusalKind, quoted};
use feedsync_formats::json::Node;
use feedsync_store::ViewRow;

use super::Views;
use crate::documents::functions::{Call, ReduceList, list};

/// Size in bytes that a reduction of a design document's function may always have.
const SMALL_REDUCTION: usize = 4_096;

impl Views {
    /// The reduction of each of several lists of rows. A view without a reduction has none.
    pub(super) async fn reduce(
        &self,
        view: u32,
        lists: &[&[ViewRow]],
    ) -> Result<Vec<Option<String>>, Refusal> {
        match self.reduction(view) {
            None => Ok(vec![None; lists.len()]),
            Some(Reduction::Builtin(builtin)) => {
                let reduce =
                    |rows: &&[ViewRow]| builtin.reduce(rows.iter().map(nodes_of)).map(Some);
                lists.iter().map(reduce).collect()
            }
            Some(Reduction::Function) => {
                let lists: Vec<ReduceList> = lists.iter().map(|rows| list_of(rows)).collect();
                let reduced = self.call(view, &lists, false).await?;
                Ok(reduced.into_iter().map(Some).collect())
            }
        }
    }

    /// The reduction of reductions. There is at least one.
    pub(super) async fn reduce_again(
        &self,
        view: u32,
        mut reductions: Vec<String>,
    ) -> Result<Option<String>, Refusal> {
        match self.reduction(view) {
            Some(Reduction::Builtin(builtin)) if reductions.len() > 1 => {
                builtin.rereduce(reductions.iter().map(String::as_str)).map(Some)
            }
            Some(Reduction::Function) if reductions.len() > 1 => {
                let (keys, values) = ("null".to_owned(), format!("[{}]", reductions.join(",")));
                Ok(self.call(view, &[ReduceList { keys, values }], true).await?.pop())
            }
            _ => Ok(reductions.pop()),
        }
    }

    /// Calls the reduce function of the design document.
    async fn call(
        &self,
        view: u32,
        lists: &[ReduceList],
        is_again: bool,
    ) -> Result<Vec<String>, Refusal> {
        let name = &self.definition.views[view as usize].name;
        let function = format!("the reduce function of {name}");
        let call = Call::Reduce { view: name, lists, is_again };
        let read = |reduction: Node<'_>| reduction.raw().to_owned();
        let design = (&self.design, &*function);
        let reductions = list(&*self.functions, design, &call, lists.len(), read).await?;
        match lists.iter().zip(&reductions).find(|(list, reduction)| has_overflow(list, reduction))
        {
            None => Ok(reductions),
            Some((_, reduction)) => {
                let begin: String = reduction.chars().take(100).collect();
                let length = reduction.len();
                Err(RefusalKind::ReduceOverflow.with_reason(format_args!(
                    "Reduce output must shrink more rapidly: Current output: '{begin}'... \
                     (first 100 of {length} bytes)"
                )))
            }
        }
    }
}

fn nodes_of(row: &ViewRow) -> (Node<'_>, Node<'_>) {
    (Node::root(&row.key), Node::root(&row.value))
}

fn list_of(rows: &[ViewRow]) -> ReduceList {
    let key = |row: &ViewRow| format!("[{},{}]", row.key, quoted(row.document.as_str()));
    let keys: Vec<String> = rows.iter().map(key).collect();
    let values: Vec<&str> = rows.iter().map(|row| &*row.value).collect();
    ReduceList { keys: format!("[{}]", keys.join(",")), values: format!("[{}]", values.join(",")) }
}

/// Whether a reduction is not much shorter than what it was computed from, as with functions that collect values. Such
/// reductions of a whole view would be as large as the view.
fn has_overflow(list: &ReduceList, reduction: &str) -> bool {
    reduction.len() > SMALL_REDUCTION && reduction.len() * 2 > list.keys.len() + list.values.len()
}
