//! Template for a tool in JavaScript or TypeScript: a module, its test, its types and editor settings.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::dialects::NewDialect;
use haft_config::Config;
use haft_tool::{Error, ErrorKind};

/// Types of tests in TypeScript.
const TEST_TYPES: (&str, &str) = ("tool-test.d.ts", include_str!("../../types/tool-test.d.ts"));

/// JSON Schema of tests in JSON, for editors.
const TEST_SCHEMA: (&str, &str) = (
    "tool-test.schema.json",
    include_str!("../../types/tool-test.schema.json"),
);

/// A tool that is about to be written.
pub(crate) struct NewModule {
    dialect: NewDialect,
    name: String,
    /// Folder of the module.
    folder: PathBuf,
    /// Name of the module's file.
    module: String,
}

/// Checks the name of a new tool.
///
/// # Errors
/// [`ErrorKind::Usage`] for a name that no tool can have.
pub(super) fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if begins_well && name.chars().all(is_plain) && name.len() <= 64 {
        return Ok(());
    }
    let text = format!("`{name}` cannot be the name of a tool");
    let hint = "use a letter, then letters, digits, `-` and `_`, 64 at most";
    Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
}

impl NewModule {
    /// Plans the tool `name` of the user or of the project.
    pub(crate) fn new(
        dialect: NewDialect,
        name: &str,
        user: bool,
        config: &Config,
    ) -> Result<NewModule, Error> {
        check_name(name)?;
        let tools = dialect.tools(config, user);
        let own = tools.join(name);
        for taken in [
            own.clone(),
            own.with_extension("ts"),
            own.with_extension("js"),
        ] {
            if taken.exists() {
                let text = format!("{} is there already", taken.display());
                let hint = "choose another name, or edit what is there";
                return Err(Error::new(ErrorKind::Load, text).with_hint(hint));
            }
        }
        let (folder, module) = match dialect.module_in_folder() {
            Some(module) => (own, module.to_owned()),
            None => (tools, format!("{name}.ts")),
        };
        Ok(NewModule {
            dialect,
            name: name.to_owned(),
            folder,
            module,
        })
    }

    /// Writes the files and returns their paths, the module first. Settings and types that other tools
    /// of the folder have stay as they are.
    pub(crate) fn write(&self) -> Result<Vec<PathBuf>, Error> {
        let stem = self.module.rsplit_once('.').map_or("", |(stem, _)| stem);
        let mut files = vec![
            (self.module.clone(), self.dialect.module(&self.name)),
            (format!("{stem}.tool-test.json"), self.test()),
            ("tsconfig.json".to_owned(), self.settings()),
        ];
        let types = self.dialect.types().into_iter();
        for (name, text) in types.chain([TEST_TYPES, TEST_SCHEMA]) {
            files.push((format!("types/{name}"), text.to_owned()));
        }
        let refused = |path: &Path, error: &std::io::Error| {
            let text = format!("{} cannot be written: {error}", path.display());
            Error::new(ErrorKind::Load, text)
        };
        fs::create_dir_all(self.folder.join("types"))
            .map_err(|error| refused(&self.folder, &error))?;
        let mut written = Vec::with_capacity(files.len());
        for (index, (name, text)) in files.into_iter().enumerate() {
            let path = self.folder.join(name);
            // The module's path is known to be free, and the others may be shared.
            if index > 0 && path.exists() {
                continue;
            }
            fs::write(&path, text).map_err(|error| refused(&path, &error))?;
            written.push(path);
        }
        Ok(written)
    }

    fn test(&self) -> String {
        let mut greets = json!({
            "name": "greets",
            "tool": self.name,
            "arguments": { "name": "Ada" },
            "expect": { "text": "Hello, Ada!" },
        });
        if self.dialect.has_details() {
            greets["expect"]["details"] = json!({ "name": "Ada" });
            greets["expect"]["updates"] = json!(["Looking for Ada"]);
        }
        let tests = json!({
            "$schema": "./types/tool-test.schema.json",
            "tests": [
                greets,
                {
                    "name": "shouts",
                    "tool": self.name,
                    "arguments": { "name": "Ada", "shout": true },
                    "expect": { "text": "HELLO, ADA!" },
                },
                {
                    "name": "wants a name",
                    "tool": self.name,
                    "arguments": {},
                    "expect": { "error": { "contains": "name" } },
                },
            ],
        });
        format!("{tests:#}\n")
    }

    /// Returns the settings for editors and `tsc`.
    fn settings(&self) -> String {
        let types = self.dialect.imports().iter();
        let test = [("@haft/tool-types/tool-test", "tool-test.d.ts")];
        let paths = types.chain(&test);
        let paths: Map<String, Value> = paths
            .map(|(module, file)| ((*module).to_owned(), json!([format!("./types/{file}")])))
            .collect();
        let settings = json!({
            "compilerOptions": {
                "target": "esnext",
                "lib": ["esnext", "dom", "dom.iterable", "dom.asynciterable"],
                "module": "esnext",
                "moduleResolution": "bundler",
                "strict": true,
                "noEmit": true,
                "skipLibCheck": true,
                "allowJs": true,
                "checkJs": true,
                "allowImportingTsExtensions": true,
                "resolveJsonModule": true,
                "types": [],
                "paths": paths,
            },
            "include": ["**/*.ts", "**/*.mjs"],
        });
        format!("// For editors and `tsc`; haft itself needs none of it.\n{settings:#}\n")
    }
}
