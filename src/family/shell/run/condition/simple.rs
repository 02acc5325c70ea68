//! Evaluator of the part of JavaScript that most conditions use, with exactly its results: literals
//! and names, `== != === !== < > <= >= && || !` and parentheses. Everything else, and everything
//! uncertain, is left to JavaScript itself.

use super::super::super::definition::Datum;
use super::super::template::quoted;

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Value(Value),
    Mark(&'static str),
}

const MARKS: &[&str] = &[
    "===", "!==", "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")",
];

/// Limit of nesting; deeper conditions are left to JavaScript, which checks its stack.
const MAX_DEPTH: usize = 64;

/// Returns the result if it is certain.
pub(super) fn decide(source: &str, names: &[(String, Datum)]) -> Option<bool> {
    let tokens = tokens(source, names)?;
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        depth: 0,
    };
    let value = reader.any()?;
    (reader.at == tokens.len()).then(|| value.is_truthy())
}

fn tokens(source: &str, names: &[(String, Datum)]) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(c) = rest.chars().next() {
        let length = if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            tokens.push(Token::Mark(mark));
            mark.len()
        } else if matches!(c, '\'' | '"') {
            let length = literal(rest, c)?;
            tokens.push(Token::Value(Value::Text(quoted(&rest[..length])?)));
            length
        } else {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            tokens.push(Token::Value(word(&rest[..length], names)?));
            length
        };
        rest = rest[length..].trim_start();
    }
    Some(tokens)
}

/// Returns the length of the string literal that begins `text`.
fn literal(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return Some(at + 1),
            // An unclosed string is not valid in JavaScript either.
            '\n' | '\r' => return None,
            _ => {}
        }
    }
    None
}

fn word(word: &str, names: &[(String, Datum)]) -> Option<Value> {
    Some(match word {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        "undefined" => Value::Undefined,
        _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
            // `010` is octal in a script.
            let is_plain = word == "0" || !word.starts_with('0') || word.starts_with("0.");
            Value::Number(decimal(word).filter(|_| is_plain)?)
        }
        _ => {
            let (_, value) = names.iter().find(|(name, _)| name == word)?;
            match value {
                Datum::Null => Value::Null,
                Datum::Bool(flag) => Value::Bool(*flag),
                Datum::Number(number) => Value::Number(number.to_f64()),
                Datum::Text(text) => Value::Text(text.clone()),
                Datum::List(_) | Datum::Object(_) => return None,
            }
        }
    })
}

/// Parses digits, optionally with one point.
fn decimal(text: &str) -> Option<f64> {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_decimal = match text.split_once('.') {
        Some((whole, part)) => is_digits(whole) && is_digits(part),
        None => is_digits(text),
    };
    is_decimal.then(|| text.parse().ok())?
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn mark(&self) -> Option<&'static str> {
        match self.tokens.get(self.at)? {
            Token::Mark(mark) => Some(mark),
            Token::Value(_) => None,
        }
    }

    fn any(&mut self) -> Option<Value> {
        let mut value = self.all()?;
        while self.mark() == Some("||") {
            self.at += 1;
            let other = self.all()?;
            value = if value.is_truthy() { value } else { other };
        }
        Some(value)
    }

    fn all(&mut self) -> Option<Value> {
        let mut value = self.equality()?;
        while self.mark() == Some("&&") {
            self.at += 1;
            let other = self.equality()?;
            value = if value.is_truthy() { other } else { value };
        }
        Some(value)
    }

    fn equality(&mut self) -> Option<Value> {
        let mut value = self.relation()?;
        while let Some(mark @ ("==" | "!=" | "===" | "!==")) = self.mark() {
            self.at += 1;
            let other = self.relation()?;
            value = Value::Bool(match mark {
                "==" => loosely_equal(&value, &other)?,
                "!=" => !loosely_equal(&value, &other)?,
                // NaN differs from itself here as in JavaScript.
                "===" => value == other,
                _ => value != other,
            });
        }
        Some(value)
    }

    fn relation(&mut self) -> Option<Value> {
        let mut value = self.unary()?;
        while let Some(mark @ ("<" | ">" | "<=" | ">=")) = self.mark() {
            self.at += 1;
            let other = self.unary()?;
            value = Value::Bool(compare(&value, mark, &other)?);
        }
        Some(value)
    }

    fn unary(&mut self) -> Option<Value> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = match self.tokens.get(self.at)? {
            Token::Value(value) => {
                self.at += 1;
                value.clone()
            }
            Token::Mark("!") => {
                self.at += 1;
                Value::Bool(!self.unary()?.is_truthy())
            }
            Token::Mark("(") => {
                self.at += 1;
                let value = self.any()?;
                if self.mark() != Some(")") {
                    return None;
                }
                self.at += 1;
                value
            }
            Token::Mark(_) => return None,
        };
        self.depth -= 1;
        Some(value)
    }
}

fn loosely_equal(a: &Value, b: &Value) -> Option<bool> {
    let is_nothing = |value: &Value| matches!(value, Value::Null | Value::Undefined);
    Some(match (a, b) {
        _ if is_nothing(a) || is_nothing(b) => is_nothing(a) && is_nothing(b),
        (Value::Text(a), Value::Text(b)) => a == b,
        (a, b) => a.number()? == b.number()?,
    })
}

fn compare(a: &Value, mark: &str, b: &Value) -> Option<bool> {
    let order = match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(a.encode_utf16().cmp(b.encode_utf16())),
        (a, b) => a.number()?.partial_cmp(&b.number()?),
    };
    Some(order.is_some_and(|order| match mark {
        "<" => order.is_lt(),
        ">" => order.is_gt(),
        "<=" => order.is_le(),
        _ => order.is_ge(),
    }))
}

impl Value {
    fn is_truthy(&self) -> bool {
        match self {
            Value::Undefined | Value::Null => false,
            Value::Bool(flag) => *flag,
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::Text(text) => !text.is_empty(),
        }
    }

    /// Converts the value to a number; `None` if only JavaScript can.
    fn number(&self) -> Option<f64> {
        Some(match self {
            Value::Undefined => f64::NAN,
            Value::Null => 0.0,
            Value::Bool(flag) => f64::from(u8::from(*flag)),
            Value::Number(number) => *number,
            Value::Text(text) => match text.trim() {
                "" => 0.0,
                text => {
                    let (sign, digits) = match text.strip_prefix('-') {
                        Some(digits) => (-1.0, digits),
                        None => (1.0, text),
                    };
                    match decimal(digits) {
                        Some(number) => sign * number,
                        // Text that begins with a letter is not a number, except `Infinity`.
                        None if digits.starts_with(|c: char| c.is_alphabetic() && c != 'I') => {
                            f64::NAN
                        }
                        None => return None,
                    }
                }
            },
        })
    }
}
