//! The keys of a tool, in the order in which the reference shows them.

use super::Shape::{
    Any, Count, Flag, List, Named, Number, Size, Text, TextMap, Texts, Timeout, ValueMap, Values,
    Whole, Word, Words,
};
use super::steps::{ERROR_HANDLING, STEP};
use super::{Shape, Table, key, names};
use crate::family::shell::definition::{Isolation, Kind, Platform, Privilege};

pub(super) static PLATFORMS: [&str; 3] = names(&Platform::NAMES);
static KINDS: [&str; 5] = names(&Kind::NAMES);
static PRIVILEGES: [&str; 3] = names(&Privilege::NAMES);
static ISOLATIONS: [&str; 3] = names(&Isolation::NAMES);
static TYPES: [&str; 1] = ["alias"];

const fn table(table: &'static Table) -> Shape {
    Shape::Table(table)
}

/// A whole file.
pub(crate) static TOOL: Table = Table {
    what: "a tool",
    keys: &[
        key(
            "name",
            Text,
            "the tool's name; the file's name without `.yaml` if left out",
        ),
        key(
            "description",
            Text,
            "what the tool does, for the model; required",
        ),
        key(
            "version",
            Text,
            "the tool's own version, `1.0.0` if left out",
        ),
        key(
            "min-cycod-version",
            Text,
            "the oldest version of the format's host that can run it",
        ),
        key("bash", Text, "a command for bash"),
        key("cmd", Text, "a command for Windows' cmd"),
        key("pwsh", Text, "a command for PowerShell"),
        key("run", Text, "a program and its arguments, without a shell"),
        key(
            "script",
            Text,
            "a script of several lines, for the program in `shell`",
        ),
        key(
            "shell",
            Text,
            "what runs `script`: bash, sh, zsh, cmd, pwsh, python, node or any program",
        ),
        key("commands", table(&COMMANDS), "a command for each platform"),
        key("steps", List(&STEP), "several commands"),
        key(
            "type",
            Word(&TYPES),
            "`alias`: this is another tool with defaults of its own",
        ),
        key("base-tool", Text, "the tool that an alias stands for"),
        key(
            "default-parameters",
            ValueMap,
            "the alias's own defaults for the parameters of its base",
        ),
        key(
            "parameters",
            Named(&PARAMETER),
            "what a caller gives; name → description",
        ),
        key(
            "function-calling",
            table(&FUNCTION_CALLING),
            "how a model sees the tool",
        ),
        key("security", table(&SECURITY), "what the tool may do"),
        key(
            "environment",
            table(&ENVIRONMENT),
            "the variables it runs with",
        ),
        key("file-paths", table(&FILE_PATHS), "the folders it works in"),
        key("metadata", table(&METADATA), "for finding it"),
        key(
            "tests",
            List(&TEST),
            "calls of the tool and what must come of them",
        ),
        key(
            "timeout",
            Timeout,
            "the longest that a call may take, in milliseconds; 60000 if left out",
        ),
        key(
            "working-directory",
            Text,
            "where it runs; the project's folder if left out",
        ),
        key(
            "platforms",
            Words(&PLATFORMS),
            "where it can run; everywhere if left out",
        ),
        key(
            "tags",
            Texts,
            "categories, and how risky it is: `read`, `write` or `run`",
        ),
        key("ignore-errors", Flag, "whether a failure counts as success"),
        key("input", Text, "its standard input"),
        key("interactive", Flag, "whether it asks its user"),
        key(
            "interactive-options",
            table(&INTERACTIVE),
            "what happens when nobody answers",
        ),
        key(
            "resources",
            table(&RESOURCES),
            "bounds, and what is done afterwards",
        ),
        key(
            "error-handling",
            table(&ERROR_HANDLING),
            "what happens when its single command fails",
        ),
        key(
            "changelog",
            List(&CHANGE),
            "what changed from version to version",
        ),
        key("deprecated", Flag, "whether it should not be used any more"),
        key("deprecated-message", Text, "what to use instead"),
        key("detailed-help", Text, "more for people"),
    ],
};

pub(super) static COMMANDS: Table = Table {
    what: "`commands`",
    keys: &[
        key(
            "default",
            Text,
            "for every platform that has no command of its own",
        ),
        key(
            "platforms",
            table(&PLATFORM_COMMANDS),
            "for one platform each",
        ),
    ],
};

static PLATFORM_COMMANDS: Table = Table {
    what: "`platforms`",
    keys: &[
        key("windows", Text, "for Windows, in cmd"),
        key("linux", Text, "for Linux, in bash"),
        key("macos", Text, "for macOS, in bash"),
    ],
};

static PARAMETER: Table = Table {
    what: "a parameter",
    keys: &[
        key("type", Word(&KINDS), "its type; `string` if left out"),
        key("description", Text, "what it is, for the model; required"),
        key("required", Flag, "whether a call must give it"),
        key(
            "default",
            Any,
            "its value where a call gives none; may refer to other parameters",
        ),
        key("validation", table(&VALIDATION), "what its value must be"),
        key(
            "transform",
            Text,
            "a predefined transform, or a JavaScript expression over `value`",
        ),
        key(
            "format",
            Text,
            "how it appears in commands, with `{value}` in it",
        ),
        key("examples", Values, "for people and models"),
        key("detailed-help", Text, "more for people"),
        key(
            "security",
            table(&PARAMETER_SECURITY),
            "how it enters commands",
        ),
        key(
            "deprecated",
            Flag,
            "whether it should not be given any more",
        ),
        key(
            "deprecated-alternative",
            Text,
            "the parameter to give instead",
        ),
        key(
            "delimiter",
            Text,
            "what joins the items of a list; a space if left out",
        ),
    ],
};

static VALIDATION: Table = Table {
    what: "`validation`",
    keys: &[
        key("minLength", Count, "the fewest characters of a string"),
        key("maxLength", Count, "the most characters of a string"),
        key(
            "pattern",
            Text,
            "an ECMAScript regular expression that a string must contain",
        ),
        key("minimum", Number, "the least number, inclusive"),
        key("maximum", Number, "the greatest number, inclusive"),
        key("multipleOf", Number, "what a number must be a multiple of"),
        key("minItems", Count, "the fewest items of an array"),
        key("maxItems", Count, "the most items of an array"),
        key(
            "uniqueItems",
            Flag,
            "whether the items of an array must differ",
        ),
        key("enum", Values, "the values that are allowed"),
    ],
};

static PARAMETER_SECURITY: Table = Table {
    what: "`security` of a parameter",
    keys: &[key(
        "escape-shell",
        Flag,
        "whether its value reaches commands as one literal word",
    )],
};

static FUNCTION_CALLING: Table = Table {
    what: "`function-calling`",
    keys: &[key(
        "schema-generation",
        table(&SCHEMA_GENERATION),
        "what the generated schema holds",
    )],
};

static SCHEMA_GENERATION: Table = Table {
    what: "`schema-generation`",
    keys: &[
        key(
            "parameter-mapping",
            table(&PARAMETER_MAPPING),
            "what the types are called in the schema",
        ),
        key(
            "include-descriptions",
            Flag,
            "whether parameters have descriptions; they do if left out",
        ),
        key(
            "include-defaults",
            Flag,
            "whether parameters have defaults; they do if left out",
        ),
        key(
            "example-generation",
            Flag,
            "whether parameters have examples; not if left out",
        ),
        key(
            "sanitize-schemas",
            Flag,
            "whether the schema is made safe for every provider; it is if left out",
        ),
    ],
};

static PARAMETER_MAPPING: Table = Table {
    what: "`parameter-mapping`",
    keys: &[
        key("string", Text, "for `string`"),
        key("number", Text, "for `number`; `integer` is usual"),
        key("boolean", Text, "for `boolean`"),
        key("array", Text, "for `array`"),
        key("object", Text, "for `object`"),
    ],
};

static SECURITY: Table = Table {
    what: "`security`",
    keys: &[
        key(
            "execution-privilege",
            Word(&PRIVILEGES),
            "the rights it runs with; `elevated` is always asked about",
        ),
        key("isolation", Word(&ISOLATIONS), "what keeps it apart"),
        key(
            "required-permissions",
            Texts,
            "what it needs, for example `network:external:api.example.com`",
        ),
        key(
            "justification",
            Text,
            "why it needs that, for whoever is asked",
        ),
    ],
};

pub(super) static ENVIRONMENT: Table = Table {
    what: "`environment`",
    keys: &[
        key("variables", TextMap, "name → value"),
        key(
            "inherit",
            Flag,
            "whether the host's own variables are kept; they are if left out",
        ),
        key(
            "secrets",
            Texts,
            "the variables and parameters whose values are masked",
        ),
    ],
};

static FILE_PATHS: Table = Table {
    what: "`file-paths`",
    keys: &[
        key(
            "normalize",
            Flag,
            "whether separators in folders become the platform's own",
        ),
        key(
            "working-directory",
            Text,
            "where it runs, unless `working-directory` says so",
        ),
        key(
            "temp-directory",
            Text,
            "a folder made for the call, `{TEMP_DIR}` in commands",
        ),
        key("cross-platform", table(&CROSS_PLATFORM), "the separators"),
    ],
};

static CROSS_PLATFORM: Table = Table {
    what: "`cross-platform`",
    keys: &[
        key("windows-separator", Text, "on Windows; `\\` if left out"),
        key("unix-separator", Text, "elsewhere; `/` if left out"),
        key(
            "auto-convert",
            Flag,
            "whether they are converted without being asked",
        ),
    ],
};

static METADATA: Table = Table {
    what: "`metadata`",
    keys: &[
        key("category", Text, "for lists"),
        key("subcategory", Text, "for lists"),
        key("tags", Texts, "for searching; says nothing about risk"),
        key("search-keywords", Texts, "for searching"),
    ],
};

static TEST: Table = Table {
    what: "a test",
    keys: &[
        key("name", Text, "its name; required"),
        key("description", Text, "what it shows"),
        key("parameters", ValueMap, "what the call gives"),
        key(
            "expected",
            table(&EXPECTED),
            "what must come of it; an exit code of 0 if left out",
        ),
        key(
            "cleanup",
            Texts,
            "commands that are run afterwards, pass or fail",
        ),
        key(
            "platforms",
            Words(&PLATFORMS),
            "where it is run; everywhere if left out",
        ),
    ],
};

static EXPECTED: Table = Table {
    what: "`expected`",
    keys: &[
        key("exit-code", Whole, "0 if left out"),
        key(
            "output-contains",
            Texts,
            "all of these must be in the output",
        ),
        key(
            "output-contains-any",
            Texts,
            "one of these must be in the output",
        ),
        key(
            "output-not-contains",
            Texts,
            "none of these may be in the output",
        ),
        key(
            "output-matches",
            Texts,
            "regular expressions that the output must match",
        ),
        key("file-exists", Texts, "files that must be there"),
        key("file-not-exists", Texts, "files that must not be there"),
        key("directory-exists", Texts, "folders that must be there"),
    ],
};

static INTERACTIVE: Table = Table {
    what: "`interactive-options`",
    keys: &[
        key(
            "timeout",
            Timeout,
            "how long a person has, in milliseconds; 30000 if left out",
        ),
        key(
            "default-response",
            Text,
            "what is answered when nobody does",
        ),
    ],
};

static RESOURCES: Table = Table {
    what: "`resources`",
    keys: &[
        key("timeout", Timeout, "like `timeout`; the smaller one counts"),
        key("max-memory", Size, "the most memory, for example `512MB`"),
        key(
            "cleanup",
            List(&CLEANUP),
            "what is done however the call ends",
        ),
    ],
};

static CLEANUP: Table = Table {
    what: "an entry of `cleanup`",
    keys: &[
        key(
            "delete-temp-files",
            Flag,
            "removes the folder of `temp-directory`",
        ),
        key("final-command", Text, "a last command"),
    ],
};

static CHANGE: Table = Table {
    what: "an entry of `changelog`",
    keys: &[
        key("version", Text, "the version"),
        key("changes", Text, "what is new in it"),
    ],
};
