//! Rules of each provider, according to its documentation.

use super::properties::{is_legal, is_legal_start};

/// Subset of JSON Schema that a provider accepts.
pub(super) struct Rules {
    /// The accepted keywords; `None` for all.
    pub(super) keywords: Option<&'static [&'static str]>,
    /// The accepted keywords at the root; `None` for all.
    pub(super) root_keywords: Option<&'static [&'static str]>,
    /// The accepted values of `format`; `None` for all.
    pub(super) formats: Option<&'static [&'static str]>,
    /// True if references within the schema are accepted.
    pub(super) references: bool,
    /// True if `anyOf` and similar keywords are accepted at the root.
    pub(super) root_unions: bool,
    /// True if `oneOf` is accepted.
    pub(super) one_of: bool,
    /// True if `allOf` is accepted.
    pub(super) all_of: bool,
    /// True if `const` is accepted.
    pub(super) constants: bool,
    /// True if `type: […]` is accepted. Otherwise `nullable: true` is used, and `anyOf` without
    /// other keywords beside it.
    pub(super) type_lists: bool,
    /// True if arrays must have `items`.
    pub(super) wants_items: bool,
    /// True if every object must be closed and every property required.
    pub(super) is_closed: bool,
    /// Returns true if a property may have that name. Otherwise the property gets an alias.
    pub(super) takes_property: fn(&str) -> bool,
}

const ANY: Rules = Rules {
    keywords: None,
    root_keywords: None,
    formats: None,
    references: true,
    root_unions: true,
    one_of: true,
    all_of: true,
    constants: true,
    type_lists: true,
    wants_items: false,
    is_closed: false,
    takes_property: is_legal,
};

/// JSON Schema 2020-12 whose root is an object.
pub(super) const MCP: Rules = ANY;

/// The same without the parts that every provider refuses: for MCP clients that pass schemas on
/// unchanged.
pub(super) const MCP_PLAIN: Rules = Rules {
    root_unions: false,
    ..ANY
};

/// OpenAI's functions without `strict`: the schema is only a hint, but its form is checked.
pub(super) const OPENAI: Rules = Rules {
    root_unions: false,
    wants_items: true,
    ..ANY
};

/// OpenAI's structured outputs.
pub(super) const OPENAI_STRICT: Rules = Rules {
    keywords: Some(&[
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "definitions",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
    ]),
    formats: Some(&[
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "time",
        "uuid",
    ]),
    one_of: false,
    all_of: false,
    constants: false,
    is_closed: true,
    ..OPENAI
};

/// Anthropic refuses unions at the root.
pub(super) const ANTHROPIC: Rules = Rules {
    root_unions: false,
    ..ANY
};

/// Gemini's `parameters` of a function declaration: a subset of OpenAPI.
pub(super) const GEMINI: Rules = Rules {
    keywords: Some(&[
        "anyOf",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "nullable",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
    ]),
    formats: Some(&["date-time", "double", "enum", "float", "int32", "int64"]),
    references: false,
    root_unions: false,
    one_of: false,
    all_of: false,
    constants: false,
    type_lists: false,
    wants_items: true,
    takes_property: is_legal_start,
    ..ANY
};

/// Bedrock: the keywords that all models behind Converse accept. Amazon's own models accept three
/// at the root.
pub(super) const BEDROCK: Rules = Rules {
    root_keywords: Some(&["properties", "required", "type"]),
    references: false,
    root_unions: false,
    one_of: false,
    all_of: false,
    constants: false,
    ..ANY
};
