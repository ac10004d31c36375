//! Tree of a document without its text: enough for a tree builder to continue, with a count of the work.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, Tracer, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, ExpandedName, QualName, local_name, ns};

/// Element, or the document itself.
#[derive(Debug)]
pub(super) struct Node {
    name: QualName,
    /// Whether MathML's `annotation-xml` holds HTML.
    holds_html: bool,
}

pub(super) type Handle = Rc<Node>;

/// Receiver of tree operations, which counts them and keeps no tree.
#[derive(Debug)]
pub(super) struct Skeleton {
    document: Handle,
    /// Elements that were created, copies included.
    pub(super) created: Cell<usize>,
    /// Bytes of the attributes of these elements.
    pub(super) attribute_bytes: Cell<usize>,
    /// Steps: one for each element that is read.
    pub(super) steps: Cell<u64>,
    /// Maximum number of steps in which a real tree would search the children of an element.
    pub(super) searched: Cell<u64>,
}

impl Skeleton {
    pub(super) fn new() -> Self {
        let name = QualName::new(None, ns!(html), local_name!("html"));
        Self {
            document: Rc::new(Node { name, holds_html: false }),
            created: Cell::new(0),
            attribute_bytes: Cell::new(0),
            steps: Cell::new(0),
            searched: Cell::new(0),
        }
    }

    /// An element of this name without attributes.
    pub(super) fn element(name: QualName) -> Handle {
        Rc::new(Node { name, holds_html: false })
    }

    fn step(&self) {
        self.steps.set(self.steps.get() + 1);
    }

    fn search(&self) {
        self.searched.set(self.searched.get() + self.created.get() as u64);
    }
}

/// Count of the elements that a tree builder holds: open ones, and formatting elements to be repeated.
#[derive(Debug, Default)]
pub(super) struct HeldElements(pub(super) Cell<usize>);

impl Tracer for HeldElements {
    type Handle = Handle;

    fn trace_handle(&self, _: &Handle) {
        self.0.set(self.0.get() + 1);
    }
}

impl TreeSink for Skeleton {
    type Handle = Handle;
    type Output = ();
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) {}

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Rc::clone(&self.document)
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        self.step();
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.created.set(self.created.get() + 1);
        let bytes: usize = attrs.iter().map(|attr| attr.name.local.len() + attr.value.len()).sum();
        self.attribute_bytes.set(self.attribute_bytes.get() + bytes);
        Rc::new(Node { name, holds_html: flags.mathml_annotation_xml_integration_point })
    }

    fn create_comment(&self, _: StrTendril) -> Handle {
        self.get_document()
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Handle {
        self.get_document()
    }

    fn append(&self, _: &Handle, _: NodeOrText<Handle>) {
        self.step();
    }

    fn append_based_on_parent_node(&self, _: &Handle, _: &Handle, _: NodeOrText<Handle>) {
        self.search();
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Handle) -> Handle {
        Rc::clone(target)
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        self.step();
        Rc::ptr_eq(one, other)
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, _: &Handle, _: NodeOrText<Handle>) {
        self.search();
    }

    fn add_attrs_if_missing(&self, _: &Handle, _: Vec<Attribute>) {}

    fn remove_from_parent(&self, _: &Handle) {
        self.search();
    }

    fn reparent_children(&self, _: &Handle, _: &Handle) {
        self.search();
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Handle) -> bool {
        target.holds_html
    }
}
