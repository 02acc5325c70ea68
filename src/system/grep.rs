//! `grep`: finds the lines that match a regular expression, in a file or in a folder and all below
//! it.
//!
//! Files with a NUL byte are binary and give no lines. UTF-16 with a byte order mark is read as
//! text. If `glob` names hidden or ignored files, they are searched, as in ripgrep.

use std::fs::File;
use std::io;
use std::path::Path;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use ignore::overrides::OverrideBuilder;
use serde_json::{Value, json};

use super::lines::Lines;
use super::open::open;
use super::params::Params;
use super::stop::{Failure, Stop};
use super::text;
use super::tool::Tool;
use super::walk;

/// Limit of a line that is searched. People do not write longer ones.
const MAX_LINE_LEN: usize = 64 << 20;

/// Limit of the shown part of a line: a minified file has one line of a megabyte.
const SHOWN_OF_LINE: usize = 1000;

pub const TOOL: Tool = Tool {
    file: "grep",
    description: "Search files for a regular expression; hidden, git-ignored and binary files are passed over",
    parameters: || {
        json!({
            "pattern": {"type": "string", "description": "Regular expression, matched line by line"},
            "glob": {"type": "string", "description": "Only files that match this, for example `*.rs` or `src/**/*.ts`; a leading `!` excludes"},
            "path": {"type": "string", "description": "File or directory to search in (default: the current directory)"},
        })
    },
    required: &["pattern"],
    returns: || {
        json!({
            "output": {"type": "string", "description": "The lines, each as `file:line: text`"},
            "count": {"type": "integer", "description": "How many lines match"},
        })
    },
    run,
};

fn run(params: &Params) -> Result<Value, Stop> {
    let matcher = matcher(params.text("pattern")?)?;
    let glob = params.optional_text("glob")?;
    let root = walk::root(params.optional_text("path")?);
    let mut searcher = searcher();
    let mut found = Lines::default();
    let opening = |error: &io::Error| Failure::opening(&walk::shown(&root), error);
    if root.metadata().map_err(|error| opening(&error))?.is_dir() {
        std::fs::read_dir(&root).map_err(|error| opening(&error))?;
        let mut builder = walk::below(&root);
        if let Some(glob) = glob {
            builder.overrides(only(&root, glob)?);
        }
        builder.filter_entry(|entry| entry.file_name() != ".git");
        let files = walk::entries(&builder)
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        for entry in files {
            // An unreadable file must not lose the matches in the others.
            if let Ok(file) = File::open(entry.path()) {
                drop(search(
                    &mut searcher,
                    &matcher,
                    entry.path(),
                    &file,
                    &mut found,
                ));
            }
        }
    } else {
        let path = root.to_string_lossy();
        let file = open(&path)?;
        search(&mut searcher, &matcher, &root, &file, &mut found)
            .map_err(|error| Failure::reading(&path, &error))?;
    }
    let count = found.count();
    Ok(json!({"output": found.into_text(), "count": count}))
}

fn matcher(pattern: &str) -> Result<RegexMatcher, Failure> {
    let built = RegexMatcherBuilder::new()
        // Several lines are searched at once, so `^` and `$` must match at each line, also before
        // CRLF.
        .multi_line(true)
        .crlf(true)
        .build(pattern);
    built.map_err(|error| {
        let message = format!("Invalid pattern: {error}");
        Failure::new("INVALID_PATTERN", message)
    })
}

fn only(root: &Path, glob: &str) -> Result<ignore::overrides::Override, Failure> {
    let mut builder = OverrideBuilder::new(root);
    let built = builder.add(glob).and_then(|builder| builder.build());
    built.map_err(|error| {
        let message = format!("Invalid glob pattern: {error}");
        Failure::new("INVALID_PATTERN", message)
    })
}

fn searcher() -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_LEN))
        .build()
}

fn search(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &Path,
    file: &File,
    found: &mut Lines,
) -> io::Result<()> {
    let before = found.mark();
    let mut sink = Matches {
        path: walk::shown(path),
        is_binary: false,
        found,
    };
    let searched = searcher.search_file(matcher, file, &mut sink);
    if sink.is_binary {
        found.back_to(&before);
    }
    searched
}

struct Matches<'a> {
    path: String,
    is_binary: bool,
    found: &'a mut Lines,
}

impl Sink for Matches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, matched: &SinkMatch<'_>) -> io::Result<bool> {
        let line = without_end(matched.bytes());
        let end = text::boundary(line, SHOWN_OF_LINE);
        let mut shown = format!(
            "{}:{}: {}",
            self.path,
            matched.line_number().unwrap_or_default(),
            String::from_utf8_lossy(&line[..end])
        );
        if end < line.len() {
            shown.push_str(&format!(" [{} more bytes]", line.len() - end));
        }
        self.found.push(&shown);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
