//! Schema of the tool for a model: `function-calling.schema-generation` (spec cycod P).

/// `function-calling.schema-generation:`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exposure {
    pub(crate) parameter_mapping: TypeNames,
    pub(crate) include_descriptions: bool,
    pub(crate) include_defaults: bool,
    /// Off by default: the specification's own generated schema has no examples.
    pub(crate) example_generation: bool,
    pub(crate) sanitize_schemas: bool,
}

/// `parameter-mapping:` names of types in the schema; only those that differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TypeNames {
    pub(crate) string: Option<String>,
    pub(crate) number: Option<String>,
    pub(crate) boolean: Option<String>,
    pub(crate) array: Option<String>,
    pub(crate) object: Option<String>,
}

impl Default for Exposure {
    fn default() -> Self {
        Exposure {
            parameter_mapping: TypeNames::default(),
            include_descriptions: true,
            include_defaults: true,
            example_generation: false,
            sanitize_schemas: true,
        }
    }
}
