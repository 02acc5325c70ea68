//! Parser for JSON from tools and clients. It accepts deeper nesting than `serde_json`, and
//! unpaired surrogates.
//!
//! `serde_json` refuses more than 127 levels, so that hostile text cannot overflow the stack. It
//! also refuses `"\ud83d"`, which JSON allows and which JavaScript writes if a text was cut inside
//! an emoji. Here [`MAX_DEPTH`] levels are read, and an unpaired surrogate becomes U+FFFD. Text
//! that `serde_json` accepts takes no extra time.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// Limit of the nesting of lists and objects. Recursive functions over values of this depth need
/// less than half of the smallest stack.
pub const MAX_DEPTH: usize = 512;

/// Replaces the parts of a result that are nested more deeply; the same text as in
/// `js-runtime/23_json_careful.ts`.
const CUT: &str = "\"[Too deep]\"";

/// Number of levels that one `serde_json` parser reads here; its own limit is 128.
const STRIDE: usize = 100;

/// Stack that parsing and checking values of [`MAX_DEPTH`] may need, in debug builds as well.
const STACK: usize = 4 << 20;
const NEW_STACK: usize = 32 << 20;

/// Number of levels that fit on any stack.
const SHALLOW: usize = 64;

/// Parses JSON text. If the text is nested too deeply, the error names the limit.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    let refused = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(refused) => refused,
    };
    if depth(text) > MAX_DEPTH {
        let why = format!("it is nested more than {MAX_DEPTH} levels deep");
        return Err(serde_json::Error::custom(why));
    }
    let text = well_formed(text);
    on_large_stack(|| from_level(&text, 0)).map_err(|_| refused)
}

/// Deserializes a type from JSON text. Values that are nested too deeply are replaced by a short
/// text.
pub fn read<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    match serde_json::from_str(text) {
        Ok(read) => Ok(read),
        Err(refused) => match parse(&cut(text)) {
            Ok(value) => on_large_stack(|| serde_json::from_value(value)),
            Err(_) => Err(refused),
        },
    }
}

/// Calls `work` on a stack that is large enough to walk over `value`.
pub fn with_stack_for<T>(value: &Value, work: impl FnOnce() -> T) -> T {
    if is_deeper_than(value, SHALLOW) {
        on_large_stack(work)
    } else {
        work()
    }
}

/// Returns the kind of the JSON value in `text`, with its article.
pub fn kind_of(text: &str) -> &'static str {
    match text.trim_start().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Returns true if the value has more than `levels` levels.
pub fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let is_deeper = |inner: &Value| levels == 0 || is_deeper_than(inner, levels - 1);
    match value {
        Value::Array(items) => items.iter().any(is_deeper),
        Value::Object(fields) => fields.values().any(is_deeper),
        _ => false,
    }
}

fn on_large_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK, NEW_STACK, work)
}

/// Returns the same JSON with U+FFFD for every escape of an unpaired surrogate.
pub fn well_formed(text: &str) -> Cow<'_, str> {
    let mut whole = String::new();
    let mut taken = 0;
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let place = text.len() - rest.len() + at;
        let Some(unit) = surrogate(&text[place..]) else {
            // An escaped backslash does not begin an escape.
            let next = text[place + 1..].chars().next().map_or(0, char::len_utf8);
            rest = &text[place + 1 + next..];
            continue;
        };
        let after = place + ESCAPE;
        let low = surrogate(&text[after..]).filter(|low| unit < LOW && *low >= LOW);
        if low.is_some() {
            rest = &text[after + ESCAPE..];
            continue;
        }
        whole.push_str(&text[taken..place]);
        whole.push('\u{fffd}');
        taken = after;
        rest = &text[after..];
    }
    match taken {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(whole + &text[taken..]),
    }
}

/// Length of an escape such as `\u1234`.
const ESCAPE: usize = 6;

/// The first low surrogate.
const LOW: u16 = 0xdc00;

/// Returns the surrogate if `text` begins with the escape of one.
fn surrogate(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xd800..0xe000).contains(&unit).then_some(unit)
}

/// Returns the same JSON with [`CUT`] in place of everything that is nested too deeply.
fn cut(text: &str) -> Cow<'_, str> {
    let mut whole = String::new();
    let mut taken = 0;
    let mut depth = 0usize;
    for (at, bracket) in brackets(text) {
        if bracket == b'{' || bracket == b'[' {
            depth += 1;
            if depth == MAX_DEPTH + 1 {
                whole.push_str(&text[taken..at]);
                whole.push_str(CUT);
            }
        } else {
            if depth == MAX_DEPTH + 1 {
                taken = at + 1;
            }
            depth = depth.saturating_sub(1);
        }
    }
    match taken {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(whole + &text[taken..]),
    }
}

/// Returns the number of arrays and objects around the innermost value of valid JSON.
pub fn depth(text: &str) -> usize {
    let (mut open, mut deepest) = (0usize, 0);
    for (_, bracket) in brackets(text) {
        if bracket == b'{' || bracket == b'[' {
            open += 1;
            deepest = deepest.max(open);
        } else {
            open = open.saturating_sub(1);
        }
    }
    deepest
}

/// Returns the brackets of JSON text outside of its strings, with their positions.
fn brackets(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let (mut in_string, mut is_escaped) = (false, false);
    text.bytes().enumerate().filter(move |(_, byte)| {
        if in_string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            return false;
        }
        in_string = *byte == b'"';
        matches!(byte, b'{' | b'[' | b'}' | b']')
    })
}

fn from_level(text: &str, depth: usize) -> serde_json::Result<Value> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = parser.deserialize_any(Level { depth })?;
    parser.end()?;
    Ok(value)
}

/// Deserializes a value that is inside `depth` others.
#[derive(Clone, Copy)]
struct Level {
    depth: usize,
}

impl Level {
    fn below(self) -> Level {
        Level {
            depth: self.depth + 1,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if !self.depth.is_multiple_of(STRIDE) {
            return deserializer.deserialize_any(self);
        }
        let raw = <&RawValue>::deserialize(deserializer)?;
        from_level(raw.get(), self.depth).map_err(D::Error::custom)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self.below())? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            object.insert(key, fields.next_value_seed(self.below())?);
        }
        Ok(Value::Object(object))
    }
}
