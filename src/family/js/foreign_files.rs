//! Recognises files that are no tools of any dialect, so that a problem says what they are.
//!
//! Only the source is searched: such a file often fails before it runs, because its program's
//! package is not installed. Installing that would only lead to the next error.

use std::path::Path;

/// Limit of the size of files that are searched.
const MAX_BYTES: u64 = 1 << 20;

/// Kind of a file that is not a module for haft, and the signs by which its source is recognised.
struct ForeignKind {
    what: &'static str,
    signs: &'static [Sign],
}

enum Sign {
    /// It imports the package, or something below it.
    Imports(&'static str),
    /// It imports that name from the package.
    ImportsName(&'static str, &'static str),
}

use Sign::{Imports, ImportsName};

const FOREIGN: &[ForeignKind] = &[
    ForeignKind {
        what: "an extension for VS Code",
        signs: &[Imports("vscode")],
    },
    ForeignKind {
        what: "an MCP server",
        signs: &[
            ImportsName("@modelcontextprotocol/sdk", "McpServer"),
            ImportsName("@modelcontextprotocol/sdk", "Server"),
            ImportsName("@modelcontextprotocol/server", "McpServer"),
        ],
    },
];

const MODULES: &[&str] = &["ts", "js", "mts", "mjs", "cts", "cjs", "tsx", "jsx"];

/// Returns a hint for a file of another program: its kind, and the kind that haft loads.
pub(super) fn hint_for(path: &Path) -> Option<String> {
    let text = source(path)?;
    let found = FOREIGN
        .iter()
        .find(|kind| kind.signs.iter().any(|sign| sign.is_in(&text)))?;
    Some(format!(
        "this looks like {}; haft loads modules whose default export is a function that returns \
         tools: `export default (pi) => ({{ name, description, parameters, execute }})`",
        found.what
    ))
}

/// Returns the program of a script that is not JavaScript: the last part of the path in its first
/// line, or the language of its extension.
pub(super) fn script_language(path: &Path) -> Option<String> {
    // Nearly all files have such an extension; they need not be read.
    let extension = path.extension().and_then(|extension| extension.to_str());
    if extension.is_some_and(|own| MODULES.contains(&own)) {
        return None;
    }
    let text = source(path)?;
    let Some(line) = text.lines().next()?.strip_prefix("#!") else {
        let known = [
            "sh", "bash", "zsh", "fish", "py", "rb", "pl", "php", "lua", "ps1",
        ];
        let extension = extension.filter(|extension| known.contains(extension));
        return extension.map(str::to_owned);
    };
    let mut words = line.split_whitespace();
    let mut program = file_name(words.next()?);
    if program == "env" {
        // `env -S deno run`
        program = words.map(file_name).find(|word| !word.starts_with('-'))?;
    }
    let is_javascript = [
        "node", "bun", "deno", "tsx", "ts-node", "npx", "bunx", "haft",
    ];
    (!is_javascript.contains(&program)).then(|| program.to_owned())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn source(path: &Path) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    if !about.is_file() || about.len() > MAX_BYTES {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

impl Sign {
    fn is_in(&self, text: &str) -> bool {
        match self {
            Imports(package) => import_of(text, package).is_some(),
            ImportsName(package, name) => {
                import_of(text, package).is_some_and(|names| words(names).any(|word| word == *name))
            }
        }
    }
}

/// Returns the text from `import` or `const` up to the package, where the package is imported.
fn import_of<'a>(text: &'a str, package: &str) -> Option<&'a str> {
    text.match_indices(package).find_map(|(at, _)| {
        let before = text[..at].strip_suffix(['"', '\''])?;
        let after = text[at + package.len()..].chars().next()?;
        if !matches!(after, '"' | '\'' | '/') {
            return None;
        }
        let statement = before.trim_end().trim_end_matches(['(', ' ']);
        let is_import = ["from", "import", "require"]
            .iter()
            .any(|word| statement.ends_with(word));
        let start = statement.rfind([';', '\n']).map_or(0, |at| at + 1);
        // The names may stand on lines of their own.
        let start = statement.rfind("import").map_or(start, |at| at.min(start));
        is_import.then(|| &statement[start..])
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
}
