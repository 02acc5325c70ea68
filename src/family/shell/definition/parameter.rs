//! One parameter: its type, its rules, how it appears in commands (spec cycod 34–49, 212–228).

use super::Datum;

pub(crate) use super::super::pattern::Pattern;

/// One entry of `parameters:`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) description: String,
    pub(crate) required: bool,
    /// Never [`Datum::Null`]: that is not a default. A text in it may hold `{references}` to other
    /// parameters and predefined variables; then `is_default_computed`.
    pub(crate) default: Option<Datum>,
    /// True if the default refers to something, so that it is known and checked only in a call. Any
    /// other default has been checked and is of the parameter's type.
    pub(crate) is_default_computed: bool,
    pub(crate) validation: Validation,
    /// `transform:` a predefined name or a JavaScript expression over `value`.
    pub(crate) transform: Option<String>,
    /// `format:` with `{value}` in it.
    pub(crate) format: Option<String>,
    pub(crate) examples: Vec<Datum>,
    pub(crate) detailed_help: Option<String>,
    /// `security.escape-shell`.
    pub(crate) escape_shell: bool,
    pub(crate) deprecated: bool,
    pub(crate) deprecated_alternative: Option<String>,
    /// Separator of the items of a list; a space unless `delimiter` sets another one.
    pub(crate) delimiter: String,
}

impl Parameter {
    /// Returns true if its values are numbers, booleans or listed by the author: none can be code.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.kind, Kind::Number | Kind::Boolean) || !self.validation.choices.is_empty()
    }
}

/// The types of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    String,
    Number,
    Boolean,
    Array,
    Object,
}

/// `validation:`; only rules that fit the parameter's type are here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Validation {
    /// In code points.
    pub(crate) min_length: Option<u64>,
    /// In code points.
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) unique_items: bool,
    /// Of the parameter's type; empty: anything.
    pub(crate) choices: Vec<Datum>,
}

impl Kind {
    /// Every type by its name in files.
    pub(crate) const NAMES: [(&'static str, Kind); 5] = [
        ("string", Kind::String),
        ("number", Kind::Number),
        ("boolean", Kind::Boolean),
        ("array", Kind::Array),
        ("object", Kind::Object),
    ];

    /// Returns its name in files.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Number => "number",
            Kind::Boolean => "boolean",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }
}
