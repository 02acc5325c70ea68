//! The keys of a step.

use super::Shape::{Count, Delay, Flag, Size, Table as Keys, Text, Texts, Timeout, ValueMap, Word};
use super::tables::{COMMANDS, ENVIRONMENT};
use super::{Table, key, names};
use crate::family::shell::definition::{OutputMode, StreamTo};

static MODES: [&str; 2] = names(&OutputMode::NAMES);
static TARGETS: [&str; 3] = names(&StreamTo::NAMES);

pub(super) static STEP: Table = Table {
    what: "a step",
    keys: &[
        key("name", Text, "its name, unique in the tool; required"),
        key("bash", Text, "a command for bash"),
        key("cmd", Text, "a command for Windows' cmd"),
        key("pwsh", Text, "a command for PowerShell"),
        key("run", Text, "a program and its arguments, without a shell"),
        key(
            "script",
            Text,
            "a script of several lines, for the program in `shell`",
        ),
        key("shell", Text, "what runs `script`"),
        key("commands", Keys(&COMMANDS), "a command for each platform"),
        key("use-tool", Text, "another tool"),
        key("with", ValueMap, "the parameters for that tool"),
        key(
            "continue-on-error",
            Flag,
            "whether the tool goes on when this step fails",
        ),
        key(
            "run-condition",
            Text,
            "a condition over earlier steps; without it the step always runs",
        ),
        key(
            "parallel",
            Flag,
            "whether it runs beside the steps before it",
        ),
        key(
            "wait-for",
            Texts,
            "the steps that must have ended before it starts",
        ),
        key(
            "error-handling",
            Keys(&ERROR_HANDLING),
            "what happens when it fails",
        ),
        key("output", Keys(&OUTPUT), "what happens to its output"),
        key(
            "timeout",
            Timeout,
            "the longest that it may take, in milliseconds",
        ),
        key("working-directory", Text, "where it runs"),
        key("environment", Keys(&ENVIRONMENT), "its own variables"),
        key("input", Text, "its standard input"),
    ],
};

pub(super) static ERROR_HANDLING: Table = Table {
    what: "`error-handling`",
    keys: &[
        key("retry", Keys(&RETRY), "runs it again"),
        key("fallback", Text, "a command for when nothing helped"),
    ],
};

static RETRY: Table = Table {
    what: "`retry`",
    keys: &[
        key(
            "attempts",
            Count,
            "how often, besides the first run; 3 if left out",
        ),
        key(
            "delay",
            Delay,
            "milliseconds before the first retry, doubled each time; 1000 if left out",
        ),
    ],
};

static OUTPUT: Table = Table {
    what: "`output`",
    keys: &[
        key(
            "mode",
            Word(&MODES),
            "`stream` shows the output while it comes",
        ),
        key(
            "buffer-limit",
            Size,
            "how much of it is kept; `10MB` if left out",
        ),
        key("max-size", Size, "another name for `buffer-limit`"),
        key(
            "truncation",
            Flag,
            "whether more than that is cut off instead of being an error",
        ),
        key(
            "streaming",
            Flag,
            "`true` is another way to write `mode: stream`",
        ),
        key("stream-callback", Word(&TARGETS), "where a stream goes"),
        key("masked-values", Texts, "texts that become asterisks"),
    ],
};
