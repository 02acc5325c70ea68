//! Template for a TypeScript tool: a folder with a module, its test, its types and editor settings.

use std::fs;
use std::path::{Path, PathBuf};

use haft_tool::{Error, ErrorKind};

/// Types that tool modules import, as in the checkout.
const TYPES: &str = include_str!("../../types/haft.d.ts");

/// Types of tests in TypeScript.
const TEST_TYPES: &str = include_str!("../../types/tool-test.d.ts");

/// JSON Schema of tests in JSON, for editors.
const TEST_SCHEMA: &str = include_str!("../../types/tool-test.schema.json");

/// A tool that is about to be written.
pub(crate) struct NewModule {
    /// Folder that will be created.
    pub(crate) folder: PathBuf,
    name: String,
}

impl NewModule {
    /// Plans the tool `name` below `folder`.
    pub(crate) fn below(folder: &Path, name: &str) -> Result<NewModule, Error> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !begins_well || !name.chars().all(is_plain) || name.len() > 64 {
            let text = format!("`{name}` cannot be the name of a tool");
            let hint = "use a letter, then letters, digits, `-` and `_`, 64 at most";
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
        }
        let folder = folder.join(name);
        for taken in [
            folder.clone(),
            folder.with_extension("ts"),
            folder.with_extension("js"),
        ] {
            if taken.exists() {
                let text = format!("{} is there already", taken.display());
                let hint = "choose another name, or edit what is there";
                return Err(Error::new(ErrorKind::Load, text).with_hint(hint));
            }
        }
        Ok(NewModule {
            folder,
            name: name.to_owned(),
        })
    }

    /// Writes the files and returns their paths, the module first.
    pub(crate) fn write(&self) -> Result<Vec<PathBuf>, Error> {
        let files = [
            ("index.ts", module(&self.name)),
            ("index.tool-test.json", test()),
            ("tsconfig.json", SETTINGS.to_owned()),
            ("types/haft.d.ts", TYPES.to_owned()),
            ("types/tool-test.d.ts", TEST_TYPES.to_owned()),
            ("types/tool-test.schema.json", TEST_SCHEMA.to_owned()),
        ];
        let refused = |path: &Path, error: &std::io::Error| {
            let text = format!("{} cannot be written: {error}", path.display());
            Error::new(ErrorKind::Load, text)
        };
        fs::create_dir_all(self.folder.join("types"))
            .map_err(|error| refused(&self.folder, &error))?;
        let mut written = Vec::with_capacity(files.len());
        for (name, text) in files {
            let path = self.folder.join(name);
            fs::write(&path, text).map_err(|error| refused(&path, &error))?;
            written.push(path);
        }
        Ok(written)
    }
}

fn module(name: &str) -> String {
    format!(
        r#"import type {{ CustomToolFactory }} from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = (pi) => ({{
  name: "{name}",
  label: "{name}",
  description: "Says what a model should know to call it: what it does, and when to use it",
  parameters: pi.zod.object({{
    name: pi.zod.string().describe("Whom to greet"),
    shout: pi.zod.boolean().default(false).describe("Say it louder"),
  }}),
  // "read" looks, "write" changes files, "exec" does anything else.
  approval: "read",
  async execute(_toolCallId, {{ name, shout }}, onUpdate, _ctx, signal) {{
    signal?.throwIfAborted();
    onUpdate?.({{ content: [{{ type: "text", text: `Looking for ${{name}}` }}] }});
    const text = `Hello, ${{name}}!`;
    return {{
      content: [{{ type: "text", text: shout ? text.toUpperCase() : text }}],
      details: {{ name }},
    }};
  }},
}});

export default factory;
"#
    )
}

fn test() -> String {
    r#"{
  "$schema": "./types/tool-test.schema.json",
  "tests": [
    {
      "name": "greets",
      "arguments": { "name": "Ada" },
      "expect": {
        "text": "Hello, Ada!",
        "details": { "name": "Ada" },
        "updates": ["Looking for Ada"]
      }
    },
    {
      "name": "shouts",
      "arguments": { "name": "Ada", "shout": true },
      "expect": { "text": "HELLO, ADA!" }
    },
    {
      "name": "wants a name",
      "arguments": {},
      "expect": { "error": { "contains": "name" } }
    }
  ]
}
"#
    .to_owned()
}

const SETTINGS: &str = r#"{
  // For editors and `tsc`; haft itself needs none of it.
  "compilerOptions": {
    "target": "esnext",
    "lib": ["esnext", "dom", "dom.iterable", "dom.asynciterable"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "strict": true,
    "noEmit": true,
    "skipLibCheck": true,
    "allowImportingTsExtensions": true,
    "resolveJsonModule": true,
    "types": [],
    "paths": {
      "@oh-my-pi/pi-coding-agent": ["./types/haft.d.ts"],
      "@mariozechner/pi-coding-agent": ["./types/haft.d.ts"],
      "@haft/tool-types": ["./types/haft.d.ts"],
      "@haft/tool-types/tool-test": ["./types/tool-test.d.ts"]
    }
  },
  "include": ["**/*.ts"]
}
"#;
