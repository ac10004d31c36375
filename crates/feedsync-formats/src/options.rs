//! How a document is read: how strictly, and within which bounds.

/// What is done about faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// For protocol bodies and `validate`: DTDs are refused, every fault is reported as one.
    Strict,
    /// For feeds of the web: DTDs are ignored, undefined references are read as HTML's characters or as
    /// text, RSS may lack what it should have. Nothing is repaired silently and no `sx` value is guessed.
    Tolerant,
}

/// Bounds of what a document may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Bytes of the document.
    pub bytes: usize,
    /// Depth of elements, arrays and objects.
    pub depth: usize,
    /// Attributes of one element, or namespace declarations in scope.
    pub attributes: usize,
    /// Items in the document, conflicts included.
    pub items: usize,
    /// `sx:history` entries of one version.
    pub history: usize,
}

impl Default for Limits {
    /// 64 MiB, depth 256, 256 attributes, 1,000,000 items, 65,536 updates of one version.
    fn default() -> Self {
        Self { bytes: 64 << 20, depth: 256, attributes: 256, items: 1_000_000, history: 65_536 }
    }
}

/// How to read a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReadOptions<'a> {
    /// How strictly.
    pub mode: Mode,
    /// Within which bounds.
    pub limits: Limits,
    /// Where the document came from, an absolute IRI: the base of relative references of a plain
    /// feed that is imported. Absent for feeds between endpoints, since equal dots must mean equal
    /// payloads wherever they are read.
    pub base: Option<&'a str>,
}

impl ReadOptions<'_> {
    /// Strict, with the default bounds.
    pub fn strict() -> Self {
        Self { mode: Mode::Strict, limits: Limits::default(), base: None }
    }

    /// Tolerant, with the default bounds.
    pub fn tolerant() -> Self {
        Self { mode: Mode::Tolerant, limits: Limits::default(), base: None }
    }
}
