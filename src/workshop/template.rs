//! What a new tool starts as: short, complete, and with a test that passes.

/// The schema for editors, where it lies for everybody.
const SCHEMA: &str = "types/cycod-tool.schema.json";

/// A file for a tool of that name. `schema` is where the schema for editors is, if not in a
/// checkout of haft.
pub(crate) fn template(name: &str, schema: Option<&str>) -> String {
    let schema = schema.unwrap_or(SCHEMA);
    format!(
        "\
# yaml-language-server: $schema={schema}
name: {name}
description: Greets somebody   # what a model decides by
bash: echo \"Hello, {{NAME}}!\"
parameters:
  NAME:
    type: string
    description: Who is greeted
    default: World
    security:
      escape-shell: true   # whatever a caller writes arrives as one word
tests:
  - name: greets
    parameters:
      NAME: Ada
    expected:
      output-contains: Hello, Ada!
# read: only looks; write: changes files; run: anything else
tags: [read]
"
    )
}
