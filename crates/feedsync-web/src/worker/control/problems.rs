//! Problems of the store, as scripts of pages see and clear them.

use serde_json::json;

use super::{Asked, Told, absent, done};
use crate::worker::Worker;

impl Worker {
    pub(super) fn problems(&mut self, method: &str, rest: &[&str], asked: Asked<'_>) -> Told {
        let state = self.engine.state();
        let mut visible = self.problems.visible(asked.identity, state);
        let [id] = rest else {
            let is_list = method == "GET" && rest.is_empty();
            let views = visible.map(|(number, problem)| problem.view(number));
            return if is_list { Told::View(200, views.collect()) } else { absent("problem") };
        };
        let found = visible.find(|(number, _)| number.to_string() == *id);
        let found = found.map(|(number, problem)| (number, problem.clone()));
        drop(visible);
        let Some((number, problem)) = found else { return absent("problem") };
        match method {
            "GET" => {
                let mut view = problem.view(number);
                view["key"] = json!(problem.key);
                view["text"] = json!(problem.text);
                Told::View(200, view)
            }
            "DELETE" => {
                self.rows.extend(self.problems.clear(number));
                done()
            }
            _ => absent("operation of a problem"),
        }
    }
}
