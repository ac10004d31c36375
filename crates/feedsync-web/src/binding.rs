//! The worker as a class of JavaScript. Commands and results are JSON texts, because these are faster to pass than
//! objects, and bytes are arrays.

use serde_json::{Value, json};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::store::{self, CANDIDATES, Found, STATE, USES};
use crate::worker::Worker;

use feedsync_bitsy::collections::SortedMap;

/// The decisions of the worker.
#[wasm_bindgen]
#[derive(Debug)]
pub struct BitsyCore(Worker);

#[wasm_bindgen]
impl BitsyCore {
    /// Restores the worker from rows: the JSON of a list of pairs of a key and a text.
    #[wasm_bindgen(constructor)]
    pub fn new(rows: &str) -> Result<Self, JsError> {
        Ok(Self(Worker::restored(&read_rows(rows)?.into_iter().collect())))
    }

    /// Restores the worker again after its writes could not be committed.
    pub fn restore(&mut self, rows: &str) -> Result<(), JsError> {
        let rows: SortedMap<String, String> = read_rows(rows)?.into_iter().collect();
        self.0.restore(&rows);
        Ok(())
    }

    /// Carries out a command, and returns its result.
    pub fn run(&mut self, command: &str) -> Result<String, JsError> {
        let command: Value = serde_json::from_str(command)?;
        Ok(self.0.run(&command).to_string())
    }

    /// Adds rows that a command lacked.
    #[wasm_bindgen(js_name = addRows)]
    pub fn add_rows(&mut self, needed: &str, rows: &str) -> Result<(), JsError> {
        let needed: Value = serde_json::from_str(needed)?;
        Ok(self.0.add(&needed, Found::Rows(read_rows(rows)?))?)
    }

    /// Adds bytes that a command lacked; `undefined` if they are gone.
    #[wasm_bindgen(js_name = addContent)]
    pub fn add_content(&mut self, needed: &str, bytes: Option<Vec<u8>>) -> Result<(), JsError> {
        let needed: Value = serde_json::from_str(needed)?;
        Ok(self.0.add(&needed, Found::Content(bytes))?)
    }

    /// Keeps received bytes in memory, so that commands need not load them.
    #[wasm_bindgen(js_name = keepContent)]
    pub fn keep_content(&mut self, digest: &str, bytes: Vec<u8>) {
        self.0.keep_content(digest, bytes);
    }

    /// Takes the bytes of a response that was combined from several contents.
    #[wasm_bindgen(js_name = takeComposed)]
    pub fn take_composed(&mut self) -> Vec<u8> {
        self.0.take_composed()
    }

    /// Text of a row with its checksum, for rows that the script writes itself.
    #[wasm_bindgen(js_name = sealRow)]
    pub fn seal_row(key: &str, text: &str) -> String {
        store::seal(key, text)
    }

    /// Text of a row without its checksum; `undefined` if the row is damaged.
    #[wasm_bindgen(js_name = unsealRow)]
    pub fn unseal_row(key: &str, sealed: &str) -> Option<String> {
        store::unseal(key, sealed).ok().map(str::to_owned)
    }

    /// Text of a row of an older version of the store in the present version; `undefined` if the row is to be deleted.
    #[wasm_bindgen(js_name = migratedRow)]
    pub fn migrated_row(version: u32, key: &str, text: &str) -> Option<String> {
        store::migrated(version, key, text)
    }

    /// First characters of keys that the script needs, as the JSON of an object: `state`, `candidates` and `uses`.
    #[wasm_bindgen(js_name = keyPrefixes)]
    pub fn key_prefixes() -> String {
        json!({ "state": STATE, "candidates": CANDIDATES, "uses": USES }).to_string()
    }
}

fn read_rows(rows: &str) -> Result<Vec<(String, String)>, JsError> {
    let rows: Vec<(String, String)> = serde_json::from_str(rows)?;
    Ok(rows)
}

/// Makes panics visible in the console of the browser.
#[wasm_bindgen(start)]
pub(crate) fn start() {
    std::panic::set_hook(Box::new(|panic| {
        let text = JsValue::from_str(&panic.to_string());
        report(&text);
    }));
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn report(text: &JsValue);
}
