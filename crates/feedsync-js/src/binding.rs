//! The decisions as functions of JavaScript. Requests and responses are JSON texts, because these are faster to pass than
//! objects.

// The macro exports public functions only.
#![allow(unreachable_pub)]

use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Carries out a request, and returns its response.
#[wasm_bindgen]
pub fn run(request: &str) -> String {
    crate::run(request)
}

/// Incorporates the items of a document.
#[wasm_bindgen]
pub fn incorporate(request: &str, document: &str) -> String {
    crate::incorporate(request, document)
}

/// Items of a document in memory.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Batch(crate::Batch);

#[wasm_bindgen]
impl Batch {
    /// Reads the items of a document.
    #[wasm_bindgen(constructor)]
    pub fn new(document: &str) -> Result<Self, JsError> {
        Ok(Self(crate::Batch::read(document)?))
    }

    /// Merges the items of another batch into this one, and returns the number of merged items.
    pub fn merge(&mut self, other: &Batch) -> usize {
        self.0.merge(&other.0)
    }

    /// Copies the items.
    pub fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    /// Writes the items as a document.
    pub fn write(&self) -> String {
        self.0.write()
    }
}
