//! Edits one entry of a YAML file by changing its lines. Everything else in the file stays.
//!
//! Only mappings in block style are changed, one key a line. Other files are refused. The caller
//! parses both texts and checks that nothing but the entry differs.

use serde_json::Value;

use super::entry::{Entry, OWN_KEYS, Refusal, STATIC_HEADERS};
use haft_config::yaml;

const INDENT: usize = 2;

/// Returns a file with only this entry.
pub(super) fn alone(keys: &[String], name: &str, entry: &Entry) -> String {
    put("", keys, name, entry).unwrap_or_default()
}

/// Returns the text with the entry in it.
pub(super) fn put(
    text: &str,
    keys: &[String],
    name: &str,
    entry: &Entry,
) -> Result<String, Refusal> {
    value(text)?;
    let mut lines = Lines::of(text);
    let mut block = lines.whole();
    for key in keys {
        block = match lines.find(&block, key) {
            Some(found) => lines.inside(&found)?,
            None => lines.append(&block, key, None),
        };
    }
    let is_new = lines.find(&block, name).is_none();
    let mut block = match lines.find(&block, name) {
        Some(found) => lines.inside(&found)?,
        None => lines.append(&block, name, None),
    };
    for key in OWN_KEYS {
        if !entry.server.contains_key(key)
            && let Some(found) = lines.find(&block, key)
        {
            lines.remove(&found);
            block.end -= found.end - found.start;
        }
    }
    for (key, value) in &entry.server {
        let is_headers = key == "headers" || key == STATIC_HEADERS;
        if is_new || is_headers || OWN_KEYS.contains(&key.as_str()) {
            lines.set(&mut block, key, value);
        }
    }
    for setting in &entry.settings {
        if setting.is_given || lines.find(&block, setting.key).is_none() {
            lines.set(&mut block, setting.key, &setting.value);
        }
    }
    Ok(lines.text())
}

/// Returns the text without the entry; `None` if it has no such entry.
pub(super) fn take(text: &str, keys: &[String], name: &str) -> Result<Option<String>, Refusal> {
    value(text)?;
    let mut lines = Lines::of(text);
    let mut block = lines.whole();
    let mut outer = Vec::new();
    for key in keys {
        let Some(found) = lines.find(&block, key) else {
            return Ok(None);
        };
        block = lines.inside(&found)?;
        outer.push(found);
    }
    let Some(found) = lines.find(&block, name) else {
        return Ok(None);
    };
    let mut removed = found;
    // A key without a value would be null.
    while let Some(parent) = outer.pop() {
        let block = lines.inside(&parent)?;
        let others = lines.keys(&block);
        if others > 1 {
            break;
        }
        removed = parent;
    }
    lines.remove(&removed);
    Ok(Some(lines.text()))
}

/// Parses a file. An empty one is an empty mapping.
pub(super) fn value(text: &str) -> Result<Value, Refusal> {
    match yaml::parse(text) {
        Ok(Value::Null) => Ok(Value::Object(Default::default())),
        Ok(value) => Ok(value),
        Err((message, place)) => {
            let before = place.and_then(|(line, column)| before(text, line, column));
            Err(Refusal::at(before, &message))
        }
    }
}

/// Returns the text before a place; line and column are 1-based.
fn before(text: &str, line: u32, column: u32) -> Option<&str> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let column = usize::try_from(column).ok()?.checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..)?;
    let inside = rest.char_indices().nth(column);
    text.get(..start + inside.map_or(rest.len(), |(at, _)| at))
}

/// The lines of a file, with their ends.
struct Lines {
    lines: Vec<String>,
    line_end: &'static str,
}

/// Lines with the keys of one mapping.
struct Block {
    start: usize,
    end: usize,
    indent: usize,
}

/// Lines of one key with its value.
struct Found {
    start: usize,
    end: usize,
    indent: usize,
}

impl Lines {
    fn of(text: &str) -> Lines {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        if let Some(last) = lines.last_mut()
            && !last.ends_with('\n')
        {
            last.push_str(line_end);
        }
        Lines { lines, line_end }
    }

    fn text(self) -> String {
        self.lines.concat()
    }

    fn whole(&self) -> Block {
        Block {
            start: 0,
            end: self.lines.len(),
            indent: 0,
        }
    }

    /// Returns the lines of a key in a block.
    fn find(&self, block: &Block, key: &str) -> Option<Found> {
        let is_key = |at: &usize| {
            let line = &self.lines[*at];
            indent_of(line) == Some(block.indent) && key_of(line) == Some(key)
        };
        let start = (block.start..block.end).find(is_key)?;
        Some(Found {
            start,
            end: self.end_of(start, block),
            indent: block.indent,
        })
    }

    /// Returns the number of keys in a block.
    fn keys(&self, block: &Block) -> usize {
        let lines = self.lines[block.start..block.end].iter();
        let keys = lines.filter(|line| indent_of(line) == Some(block.indent));
        keys.filter(|line| key_of(line).is_some()).count()
    }

    /// Returns the line after the value of the key in line `start`. Comments and empty lines behind
    /// it belong to what follows.
    fn end_of(&self, start: usize, block: &Block) -> usize {
        let mut end = start + 1;
        for at in start + 1..block.end {
            let line = &self.lines[at];
            match indent_of(line) {
                Some(indent) if indent > block.indent => end = at + 1,
                // A list may have the indentation of its key.
                Some(indent) if indent == block.indent && line.trim_start().starts_with("- ") => {
                    end = at + 1;
                }
                Some(_) => break,
                None => {}
            }
        }
        end
    }

    /// Returns the block that is the value of a key. A value of `{}` or nothing becomes one.
    fn inside(&mut self, found: &Found) -> Result<Block, Refusal> {
        let line = &self.lines[found.start];
        let (head, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.split(" #").next().unwrap_or_default().trim();
        match value {
            "" => {}
            "{}" | "~" | "null" => self.lines[found.start] = format!("{head}:{}", self.line_end),
            _ => {
                let before: String = self.lines[..found.start].concat();
                let text = format!(
                    "`{}` is not a mapping with one key a line",
                    head.trim().trim_matches(['"', '\''])
                );
                return Err(Refusal::at(Some(&before), &text));
            }
        }
        let inner = (found.start + 1..found.end).find_map(|at| indent_of(&self.lines[at]));
        Ok(Block {
            start: found.start + 1,
            end: found.end,
            indent: inner.unwrap_or(found.indent + INDENT),
        })
    }

    /// Adds a key at the end of a block, and returns the block of its value.
    fn append(&mut self, block: &Block, key: &str, value: Option<&Value>) -> Block {
        let margin = " ".repeat(block.indent);
        let value = value.map_or_else(String::new, |value| format!(" {}", written(value)));
        let line = format!("{margin}{key}:{value}{}", self.line_end);
        // Empty lines at the end of the block separate it from what follows.
        let is_empty = |line: &String| line.trim().is_empty();
        let mut at = block.end;
        while at > block.start && is_empty(&self.lines[at - 1]) {
            at -= 1;
        }
        self.lines.insert(at, line);
        Block {
            start: at + 1,
            end: at + 1,
            indent: block.indent + INDENT,
        }
    }

    /// Sets the value of a key in a block; a comment behind an old value on one line stays.
    fn set(&mut self, block: &mut Block, key: &str, value: &Value) {
        let Some(found) = self.find(block, key) else {
            self.append(block, key, Some(value));
            block.end += 1;
            return;
        };
        let old: String = self.lines[found.start..found.end].concat();
        if yaml::parse(&old).is_ok_and(|old| old.get(key) == Some(value)) {
            return;
        }
        let line = &self.lines[found.start];
        let comment = line.find(" #").map_or("", |at| line[at..].trim_end());
        let line = format!(
            "{}{key}: {}{comment}{}",
            " ".repeat(found.indent),
            written(value),
            self.line_end
        );
        self.lines.splice(found.start..found.end, [line]);
        block.end -= found.end - found.start - 1;
    }

    fn remove(&mut self, found: &Found) {
        self.lines.drain(found.start..found.end);
    }
}

/// Returns the indentation of a line with content.
fn indent_of(line: &str) -> Option<usize> {
    let content = line.trim_start_matches(' ');
    let has_content = !content.trim().is_empty() && !content.starts_with('#');
    has_content.then_some(line.len() - content.len())
}

/// Returns the key of a line.
fn key_of(line: &str) -> Option<&str> {
    let (key, value) = line.trim_start().split_once(':')?;
    let is_key = value.is_empty() || value.starts_with([' ', '\r', '\n']);
    is_key.then(|| key.trim().trim_matches(['"', '\'']))
}

/// Writes a value on one line. JSON is YAML; plain words need no quotes.
fn written(value: &Value) -> String {
    let is_plain = |text: &str| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
            && text.chars().all(is_word)
            && !["true", "false", "yes", "no", "on", "off", "null", "y", "n"]
                .contains(&text.to_ascii_lowercase().as_str())
    };
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(written).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}
