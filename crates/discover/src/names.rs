//! Classifies file names: a tool module, or the reason why it is not one.
//!
//! Only names are checked here; nothing is opened. The reasons end with a remedy, because `haft
//! doctor` prints them as they are.

/// Extensions that oh-my-pi discovers. They come first, so that haft's additional extensions never
/// change which file its users get.
const COMMON: &[&str] = &["ts", "js"];

/// Extensions that only haft discovers.
const MORE: &[&str] = &["mjs", "cjs", "mts", "cts", "tsx"];

/// Names of a folder's index module, in the order of preference.
pub(super) const INDEXES: &[&str] = &[
    "index.ts",
    "index.js",
    "index.mjs",
    "index.cjs",
    "index.mts",
    "index.cts",
    "index.tsx",
];

/// Index modules that oh-my-pi accepts in a folder that a plugin manifest names.
pub(super) const MANIFEST_INDEXES: &[&str] = &["index.ts", "index.js", "index.mjs", "index.cjs"];

/// Suffix of the names of tests, before the extension.
const TEST: &str = ".tool-test";

/// Kind of a file, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name<'a> {
    /// A module; `key` is its name without the extension.
    Module { key: &'a str, rank: Rank },
    /// Not a module, for this reason.
    Foreign(&'static str),
    /// Starts with a dot and is not a module; it is not reported.
    Hidden,
}

/// Precedence among the modules of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Common,
    More,
}

pub(super) fn judge(name: &str) -> Name<'_> {
    let Some((key, extension)) = name.rsplit_once('.') else {
        return Name::Foreign(
            "no tool module: modules end in .ts, .js, .mjs, .cjs, .mts, .cts or .tsx",
        );
    };
    let is_module = COMMON.contains(&extension) || MORE.contains(&extension);
    if name.starts_with('.') {
        return if is_module && !key.is_empty() {
            Name::Foreign("hidden file: remove the leading dot to load it")
        } else {
            Name::Hidden
        };
    }
    if key.ends_with(TEST) && (is_module || extension == "json") {
        return Name::Foreign("the tests of a tool: `haft test` runs them");
    }
    if is_module {
        if key.ends_with(".d") && extension.ends_with("ts") {
            return Name::Foreign("type declarations hold no code; the module beside them counts");
        }
        let rank = if COMMON.contains(&extension) {
            Rank::Common
        } else {
            Rank::More
        };
        return Name::Module { key, rank };
    }
    Name::Foreign(match extension {
        "md" | "json" => {
            "declarative tool file (.md, .json): it cannot be loaded as an executable module; \
             write the tool as a .ts module"
        }
        "sh" | "bash" | "py" => {
            "a script is not a tool module: call it from a .ts module, for example with pi.exec"
        }
        "jsx" => "not a module extension here: rename it to .tsx",
        _ if is_module_in_capitals(extension) => {
            "extensions are case-sensitive: write it in lower case"
        }
        _ => "no tool module: modules end in .ts, .js, .mjs, .cjs, .mts, .cts or .tsx",
    })
}

fn is_module_in_capitals(extension: &str) -> bool {
    let mut known = COMMON.iter().chain(MORE);
    known.any(|known| extension.eq_ignore_ascii_case(known))
}
