//! Options for reading a document: strictness and limits.

/// Treatment of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// For protocol bodies and `validate`: DTDs are refused, and every fault is reported as one.
    Strict,
    /// For feeds of the web: DTDs are ignored, undefined references are read as HTML characters or as text, and RSS
    /// may lack required elements. Nothing is repaired silently, and no `sx` value is guessed.
    Tolerant,
}

/// Limits of the resources that a document may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Maximum size of the document, in bytes.
    pub bytes: usize,
    /// Maximum depth of elements, arrays and objects.
    pub depth: usize,
    /// Maximum number of attributes of an element, and of namespace declarations in scope.
    pub attributes: usize,
    /// Maximum number of items in the document, conflicts included.
    pub items: usize,
    /// Maximum number of `sx:history` entries of one version.
    pub history: usize,
}

impl Default for Limits {
    /// 64 MiB, depth 256, 256 attributes, 1,000,000 items, 65,536 updates of one version.
    fn default() -> Self {
        Self { bytes: 64 << 20, depth: 256, attributes: 256, items: 1_000_000, history: 65_536 }
    }
}

/// Options for reading a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadOptions<'a> {
    /// Treatment of faults.
    pub mode: Mode,
    /// Limits of the document.
    pub limits: Limits,
    /// Absolute IRI from which the document was retrieved. It is the base of relative references in a plain feed that
    /// is imported. It is absent for feeds between endpoints, since equal dots must mean equal payloads wherever they
    /// are read.
    pub base: Option<&'a str>,
}

impl ReadOptions<'_> {
    /// Returns strict options with the default limits.
    pub fn strict() -> Self {
        Self { mode: Mode::Strict, limits: Limits::default(), base: None }
    }

    /// Returns tolerant options with the default limits.
    pub fn tolerant() -> Self {
        Self { mode: Mode::Tolerant, limits: Limits::default(), base: None }
    }
}
