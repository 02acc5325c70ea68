//! Template of a new YAML tool: short, complete, and with a test that passes.

/// Returns the text of a file for a tool of that name.
pub(crate) fn template(name: &str) -> String {
    format!(
        "\
# yaml-language-server: $schema=../tool.schema.json
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
