//! One parameter: its type, its rules, how it appears in commands (spec cycod 34–49, 212–228).

use schemars::JsonSchema;
use serde::Deserialize;

use super::Datum;

pub(crate) use super::super::pattern::Pattern;

/// One entry of `parameters:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
#[schemars(title = "a parameter")]
pub(crate) struct Parameter {
    #[serde(rename = "$key")]
    #[schemars(skip)]
    pub(crate) name: String,
    /// Its type; `string` if left out
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    /// Description of it, for the model; required
    pub(crate) description: String,
    /// `true` if a call must give it
    pub(crate) required: bool,
    /// Value for calls that give none; may refer to other parameters
    // Never [`Datum::Null`]: that is not a default. If nothing in it is a reference, it has been
    // checked and is of the parameter's type.
    pub(crate) default: Option<Datum>,
    // True if the default refers to other parameters or predefined variables, so that it is known
    // and checked only in a call.
    #[serde(skip)]
    pub(crate) is_default_computed: bool,
    /// Rules for its value
    pub(crate) validation: Validation,
    /// A predefined transform, or a JavaScript expression over `value`
    pub(crate) transform: Option<String>,
    /// Its form in commands, with `{value}` in it
    pub(crate) format: Option<String>,
    /// For people and models
    pub(crate) examples: Vec<Datum>,
    /// More for people
    pub(crate) detailed_help: Option<String>,
    /// Protection of commands against its value
    pub(crate) security: ParameterSecurity,
    /// `true` if it should not be given any more
    pub(crate) deprecated: bool,
    /// The parameter to give instead
    pub(crate) deprecated_alternative: Option<String>,
    /// Separator of the items of a list; a space if left out
    pub(crate) delimiter: Option<String>,
}

impl Parameter {
    /// Returns true if its values are numbers, booleans or listed by the author: none can be code.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self.kind, Kind::Number | Kind::Boolean) || !self.validation.choices.is_empty()
    }
}

/// `security:` of a parameter.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct ParameterSecurity {
    /// `true` if its value reaches commands as one literal word
    pub(crate) escape_shell: bool,
}

/// Types of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Kind {
    #[default]
    String,
    Number,
    Boolean,
    Array,
    Object,
}

impl Kind {
    /// Returns its name in files.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Rules for a value. Only those that fit the parameter's type are kept; lengths are in code
/// points.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Validation {
    /// The fewest characters of a string
    pub(crate) min_length: Option<u32>,
    /// The most characters of a string
    pub(crate) max_length: Option<u32>,
    /// An ECMAScript regular expression that a string must contain
    pub(crate) pattern: Option<Pattern>,
    /// The least number, inclusive
    pub(crate) minimum: Option<f64>,
    /// The greatest number, inclusive
    pub(crate) maximum: Option<f64>,
    /// Number that a number must be a multiple of
    pub(crate) multiple_of: Option<f64>,
    /// The fewest items of an array
    pub(crate) min_items: Option<u32>,
    /// The most items of an array
    pub(crate) max_items: Option<u32>,
    /// `true` if the items of an array must differ
    pub(crate) unique_items: bool,
    /// The values that are allowed
    // Of the parameter's type; empty: anything.
    #[serde(rename = "enum")]
    pub(crate) choices: Vec<Datum>,
}
