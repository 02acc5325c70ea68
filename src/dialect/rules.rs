//! What each provider's documentation says that it takes.

use super::properties::{is_legal, is_legal_start};

/// The subset of JSON Schema that a provider takes.
pub(super) struct Rules {
    /// The keywords that it takes; `None`: all.
    pub(super) keywords: Option<&'static [&'static str]>,
    /// The only ones at the root.
    pub(super) root_keywords: Option<&'static [&'static str]>,
    /// The values of `format` that it takes; `None`: all.
    pub(super) formats: Option<&'static [&'static str]>,
    /// References within the schema.
    pub(super) references: bool,
    /// `anyOf` and its like at the root.
    pub(super) root_unions: bool,
    /// `oneOf` anywhere.
    pub(super) one_of: bool,
    /// `allOf` anywhere.
    pub(super) all_of: bool,
    /// `const`.
    pub(super) constants: bool,
    /// `type: […]`; else `nullable: true`, and `anyOf` with nothing beside it.
    pub(super) type_lists: bool,
    /// Arrays must say what they hold.
    pub(super) wants_items: bool,
    /// Every object is closed and every property required.
    pub(super) is_closed: bool,
    /// Whether a property may have that name; else it gets an alias.
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

/// The same without what no provider takes: for MCP clients that hand schemas on as they are.
pub(super) const MCP_PLAIN: Rules = Rules {
    root_unions: false,
    ..ANY
};

/// Functions without `strict`: hints, but checked for their form.
pub(super) const OPENAI: Rules = Rules {
    root_unions: false,
    wants_items: true,
    ..ANY
};

/// Structured outputs.
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

/// No union at the root.
pub(super) const ANTHROPIC: Rules = Rules {
    root_unions: false,
    ..ANY
};

/// `parameters` of a function declaration: OpenAPI's subset.
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

/// What all models behind Converse take; Amazon's own take three keywords at the root.
pub(super) const BEDROCK: Rules = Rules {
    root_keywords: Some(&["properties", "required", "type"]),
    references: false,
    root_unions: false,
    one_of: false,
    all_of: false,
    constants: false,
    ..ANY
};
