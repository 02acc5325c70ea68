//! Estimates how deeply the parser would recurse into a source, before the parser runs.
//!
//! The parser is recursive, and so is all code that walks, prints and drops its tree. Its depth is
//! not the depth of brackets: `a=>a=>a`, `a?b:a?b:c`, `!!!a` and `else if` nest without any. So the
//! estimate reads the text token by token. It adds up the cost of every open bracket and every
//! unfinished expression around a token. Strings, comments and regular expressions count as one
//! token.
//!
//! The estimate follows the usual rules of JavaScript's tokens. It can be deceived where these
//! depend on the grammar (a `/` after a `}`). So text of an untrusted project is parsed in a
//! process of its own with a memory limit (`reader`). The estimate is the limit for all other text.

/// Limit of a source's cost.
const MAX_COST: usize = 20_000;

/// Stack that one unit of cost can take in any recursive code, generously estimated.
const STACK_PER_COST: usize = if cfg!(debug_assertions) {
    96 << 10
} else {
    24 << 10
};

/// Smallest stack that is worth an allocation of its own.
const MIN_STACK: usize = 8 << 20;

/// The cost of an open bracket, an arrow, a conditional, a keyword that nests.
const COST_OF_LEVEL: usize = 8;

/// The cost of a label before a label: for each, the parser copies those before it.
const COST_OF_LABEL: usize = 40;

/// Stack that suffices for any source below the limit. Only the used pages take memory.
pub(crate) const DEEP_STACK: usize = 512 << 20;

/// Stack for the caller on such a stack, which builds many graphs and compiles files.
const BESIDES: usize = 64 << 20;

/// Runs `work`, which builds the graphs of many modules, on a stack that is deep enough for each.
/// Otherwise each graph would get a stack of its own. Mapping and unmapping so much memory delays
/// every other thread that needs memory.
pub fn on_deep_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(DEEP_STACK + BESIDES, DEEP_STACK + BESIDES, work)
}

/// Returns true if the text must not be given to the parser.
pub(super) fn is_hostile(text: &str) -> bool {
    stack_for(text).is_none()
}

/// Returns the bytes of stack that suffice to parse the text and to walk its tree. Returns `None`
/// if the text must not be given to the parser.
pub(crate) fn stack_for(text: &str) -> Option<usize> {
    let cost = Scanner::new(text.as_bytes()).peak()?;
    Some((cost * STACK_PER_COST).clamp(MIN_STACK, DEEP_STACK))
}

/// Returns true for words that nest what follows them without a bracket.
fn is_prefix(word: &[u8]) -> bool {
    matches!(
        word,
        b"await"
            | b"yield"
            | b"typeof"
            | b"void"
            | b"delete"
            | b"new"
            | b"if"
            | b"else"
            | b"for"
            | b"while"
            | b"do"
            | b"with"
            | b"try"
            | b"class"
            | b"extends"
            | b"function"
            | b"throw"
            | b"return"
            | b"in"
            | b"instanceof"
    )
}

/// Returns true for words that nest what follows them, but are plain names elsewhere.
fn is_contextual(word: &[u8]) -> bool {
    matches!(
        word,
        b"keyof"
            | b"unique"
            | b"readonly"
            | b"infer"
            | b"asserts"
            | b"async"
            | b"as"
            | b"satisfies"
            | b"of"
            | b"is"
            | b"abstract"
            | b"implements"
            | b"declare"
            | b"namespace"
            | b"module"
            | b"get"
            | b"set"
            | b"static"
            | b"accessor"
            | b"override"
    )
}

/// Returns true for words that continue the statement or the expression before them.
fn is_continuing(word: &[u8]) -> bool {
    matches!(
        word,
        b"else"
            | b"while"
            | b"catch"
            | b"finally"
            | b"in"
            | b"instanceof"
            | b"as"
            | b"satisfies"
            | b"of"
            | b"from"
            | b"extends"
            | b"implements"
            | b"is"
    )
}

/// Returns true for words before `(` after whose `)` an expression or a statement begins.
fn is_head(word: &[u8]) -> bool {
    matches!(word, b"if" | b"while" | b"for" | b"with")
}

/// Kind of the previous token, as far as the meaning of the next one depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value has ended: an operator or a new statement follows.
    Value,
    /// The head of a statement has ended (`if (…)`).
    Head,
    /// A block or an object has ended.
    Block,
    /// A value or a statement begins.
    Start,
    /// The dot of a member: the next word is a name.
    Dot,
    /// A word for which [`is_contextual`].
    Word,
}

/// One open bracket.
#[derive(Clone, Copy)]
struct Level {
    kind: Kind,
    /// The cost of the unfinished expression or statement in it.
    cost: usize,
    /// The part of `cost` that a comma does not end: `<` of type arguments.
    kept: usize,
    /// Its `)` ends the head of a statement.
    is_head: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The file itself.
    File,
    /// `(` or `[`.
    Bracket,
    /// `{`.
    Brace,
    /// `${` of a template.
    Hole,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    levels: Vec<Level>,
    /// The cost of all levels except the last.
    below: usize,
    /// Number of open JSX elements.
    elements: usize,
    before: Before,
    /// Set if the previous token was a word for which [`is_head`].
    after_head_word: bool,
    label: Label,
}

/// Progress of a label that follows another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    None,
    /// A colon.
    Colon,
    /// A colon and a word.
    Word,
}

impl<'a> Scanner<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let file = Level {
            kind: Kind::File,
            cost: 0,
            kept: 0,
            is_head: false,
        };
        Scanner {
            bytes,
            at: 0,
            levels: vec![file],
            below: 0,
            elements: 0,
            before: Before::Start,
            after_head_word: false,
            label: Label::None,
        }
    }

    /// Returns the highest cost at any token; `None` if it exceeds the limit.
    fn peak(mut self) -> Option<usize> {
        let mut peak = 0;
        while self.at < self.bytes.len() {
            self.token();
            let here = self.levels.last().map_or(0, |level| level.cost);
            let brackets = self.levels.len() + self.elements;
            peak = peak.max(self.below + here + brackets * COST_OF_LEVEL);
            if peak > MAX_COST {
                return None;
            }
        }
        Some(peak)
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or_default()
    }

    fn token(&mut self) {
        let newline = self.skip_space();
        let byte = self.peek(0);
        if self.at >= self.bytes.len() {
            return;
        }
        if newline {
            self.end_line(byte);
        }
        let was_head_word = std::mem::take(&mut self.after_head_word);
        let label = std::mem::replace(&mut self.label, Label::None);
        match byte {
            b'"' | b'\'' => {
                self.skip_string(byte);
                self.value();
            }
            b'`' => {
                self.at += 1;
                // A value before it is a tag, so this is a call.
                if self.before == Before::Value {
                    self.add(1);
                }
                self.template();
            }
            b'0'..=b'9' => {
                self.skip_word();
                self.value();
            }
            byte if is_word(byte) => {
                self.word();
                if label == Label::Colon {
                    self.label = Label::Word;
                }
            }
            b':' => {
                self.operator(byte);
                self.label = Label::Colon;
                if label == Label::Word {
                    self.add(COST_OF_LABEL);
                }
            }
            b'(' | b'[' | b'{' => self.open(byte, was_head_word),
            b')' | b']' | b'}' => self.close(byte),
            b'/' if self.begins_value() && self.skip_regex() => self.value(),
            _ => self.operator(byte),
        }
    }

    /// Skips white space and comments; true if they contain the end of a line.
    fn skip_space(&mut self) -> bool {
        let mut newline = false;
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'\n' | b'\r', _) => {
                    newline = true;
                    self.at += 1;
                }
                (b' ' | b'\t' | 0x0b | 0x0c, _) => self.at += 1,
                (b'/', b'/') => {
                    let rest = &self.bytes[self.at..];
                    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.at += end.unwrap_or(rest.len());
                }
                (b'/', b'*') => {
                    let rest = &self.bytes[self.at + 2..];
                    let end = rest.windows(2).position(|pair| pair == b"*/");
                    let end = end.map_or(rest.len(), |end| end + 2);
                    newline |= rest[..end].contains(&b'\n');
                    self.at += 2 + end;
                }
                _ => return newline,
            }
        }
    }

    /// Skips a string. It ends with its line at the latest: an unclosed quote is something else,
    /// such as an apostrophe in the text of an element.
    fn skip_string(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.bytes.len() {
            match self.peek(0) {
                b'\\' => self.at += 1,
                b'\n' => return,
                byte if byte == quote => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_word(&mut self) {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| !is_word(*byte));
        self.at += end.unwrap_or(rest.len()).max(1);
    }

    /// Skips a regular expression, if there is one that ends in this line.
    fn skip_regex(&mut self) -> bool {
        let (mut at, mut in_class) = (self.at + 1, false);
        loop {
            match self.bytes.get(at) {
                None | Some(b'\n' | b'\r') => return false,
                Some(b'\\') => at += 1,
                Some(b'[') => in_class = true,
                Some(b']') => in_class = false,
                Some(b'/') if !in_class => break,
                Some(_) => {}
            }
            at += 1;
        }
        self.at = at + 1;
        self.skip_flags();
        true
    }

    fn skip_flags(&mut self) {
        while is_word(self.peek(0)) {
            self.at += 1;
        }
    }

    /// Reads the text of a template up to its end or to the next `${`.
    fn template(&mut self) {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\\', _) => self.at += 1,
                (b'`', _) => {
                    self.at += 1;
                    return self.value();
                }
                (b'$', b'{') => {
                    self.at += 2;
                    return self.push(Kind::Hole, false);
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn begins_value(&self) -> bool {
        matches!(self.before, Before::Start | Before::Head | Before::Block)
    }

    fn value(&mut self) {
        self.before = Before::Value;
    }

    fn add(&mut self, cost: usize) {
        if let Some(level) = self.levels.last_mut() {
            level.cost += cost;
        }
    }

    /// Ends the statement in the innermost bracket.
    fn end_statement(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            (level.cost, level.kept) = (0, 0);
        }
    }

    /// Ends the statement if a new line begins with a value: JavaScript inserts a semicolon there.
    fn end_line(&mut self, next: u8) {
        let begins = is_word(next) || matches!(next, b'"' | b'\'' | b'@' | b'#');
        let ended = match self.before {
            Before::Value | Before::Block => begins && !self.continues(),
            Before::Head | Before::Start | Before::Dot | Before::Word => false,
        };
        if ended {
            self.end_statement();
        }
    }

    /// Returns true if the word at this place continues the expression or statement before it.
    fn continues(&self) -> bool {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| !is_word(*byte));
        is_continuing(&rest[..end.unwrap_or(rest.len())])
    }

    fn word(&mut self) {
        let start = self.at;
        // The body of a function or a class has ended, and another statement begins.
        let after_block = self.before == Before::Block && !self.continues();
        if after_block {
            self.end_statement();
        }
        self.skip_word();
        let word = &self.bytes[start..self.at];
        if self.before == Before::Dot {
            return self.value();
        }
        if word == b"case" {
            // The previous `case` of a `switch` has ended.
            self.end_statement();
            self.before = Before::Start;
        } else if is_prefix(word) {
            self.after_head_word = is_head(word);
            self.add(COST_OF_LEVEL);
            self.before = Before::Start;
        } else if is_contextual(word) {
            self.add(COST_OF_LEVEL);
            self.before = Before::Word;
        } else {
            self.value();
        }
    }

    fn push(&mut self, kind: Kind, is_head: bool) {
        if let Some(level) = self.levels.last_mut() {
            // A bracket depends on the expression before it: `f(a)(b)(c)`.
            level.cost += 1;
            self.below += level.cost;
        }
        self.levels.push(Level {
            kind,
            cost: 0,
            kept: 0,
            is_head,
        });
        self.before = Before::Start;
    }

    fn open(&mut self, byte: u8, after_head_word: bool) {
        self.at += 1;
        let kind = match byte {
            b'{' => Kind::Brace,
            _ => Kind::Bracket,
        };
        self.push(kind, byte == b'(' && after_head_word);
    }

    fn close(&mut self, byte: u8) {
        self.at += 1;
        let closed = match self.levels.len() {
            // A bracket was closed that was never opened: the parser stops there.
            0 | 1 => return self.value(),
            _ => self.levels.pop(),
        };
        let outer = self.levels.last().map_or(0, |level| level.cost);
        self.below = self.below.saturating_sub(outer);
        match (closed, byte) {
            (Some(level), b'}') if level.kind == Kind::Hole => self.template(),
            (_, b'}') => self.before = Before::Block,
            (Some(level), _) if level.is_head => self.before = Before::Head,
            _ => self.value(),
        }
    }

    fn operator(&mut self, byte: u8) {
        let next = self.peek(1);
        self.at += 1;
        let was = std::mem::replace(&mut self.before, Before::Start);
        match byte {
            b';' => {
                self.skip_space();
                if !self.continues() {
                    self.end_statement();
                }
            }
            b',' => {
                if let Some(level) = self.levels.last_mut() {
                    level.cost = level.kept;
                }
            }
            b'=' if next == b'>' => {
                self.at += 1;
                self.add(COST_OF_LEVEL);
            }
            b'?' => self.add(COST_OF_LEVEL),
            b'.' => {
                self.add(1);
                self.before = Before::Dot;
            }
            b'<' if next == b'/' => {
                self.at += 1;
                self.elements = self.elements.saturating_sub(1);
            }
            // A JSX element, or type parameters, because they do not follow a value.
            b'<' if !matches!(was, Before::Value | Before::Word)
                && (is_word(next) || next == b'>') =>
            {
                self.elements += 1;
            }
            b'<' => {
                self.add(COST_OF_LEVEL);
                if let Some(level) = self.levels.last_mut() {
                    level.kept += COST_OF_LEVEL;
                }
            }
            b'/' if next == b'>' => {
                self.at += 1;
                self.elements = self.elements.saturating_sub(1);
                self.value();
            }
            b'>' => {
                if let Some(level) = self.levels.last_mut()
                    && level.kept > 0
                {
                    level.kept -= COST_OF_LEVEL;
                    level.cost = level.cost.saturating_sub(COST_OF_LEVEL);
                }
            }
            // A prefix: its operand is nested in it.
            b'!' | b'~' | b'@' if was != Before::Value => self.add(COST_OF_LEVEL),
            b'+' | b'-' if was == Before::Start => self.add(COST_OF_LEVEL),
            _ => self.add(1),
        }
        if matches!((byte, next), (b'+', b'+') | (b'-', b'-')) && was == Before::Value {
            // `a++` is a value again.
            self.at += 1;
            self.value();
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'\\' | b'#') || byte >= 0x80
}
