//! Estimates how deeply the parser would recurse into a source, before it does.
//!
//! The parser, and everything that walks, prints and drops its tree, is recursive. Its depth is not
//! the depth of brackets: `a=>a=>a`, `a?b:a?b:c`, `!!!a` and `else if` nest without any. So the
//! estimate reads the text token by token and adds up what every open bracket and every unfinished
//! expression around a token can cost. Strings, comments and regular expressions count as one token.
//!
//! The estimate goes by the usual rules of JavaScript's tokens and can be deceived where these
//! depend on the grammar (a `/` after a `}`). Text of an untrusted project is therefore parsed in a
//! process of its own with a limit of memory (`reader`); this is the bound for everything else.

/// The most that a source may cost.
const MAX_COST: usize = 20_000;

/// The stack that one unit of cost can take in all that recurses, generously.
const STACK_PER_COST: usize = if cfg!(debug_assertions) {
    96 << 10
} else {
    24 << 10
};

/// The least that is worth a stack of its own.
const MIN_STACK: usize = 8 << 20;

/// The cost of an open bracket, an arrow, a conditional, a keyword that nests.
const COST_OF_LEVEL: usize = 8;

/// The stack that suffices for whatever is below the limit. Only what is used takes memory.
pub(super) const STACK: usize = 512 << 20;

/// What is on such a stack besides: the caller that finds many graphs, and compiles files meanwhile.
const BESIDES: usize = 64 << 20;

/// Runs `work`, which finds the graphs of many modules, on a stack that is deep enough for each of them.
/// Without it each gets one of its own, and to map so much and give it back holds up every other thread
/// that needs memory.
pub fn on_deep_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK + BESIDES, STACK + BESIDES, work)
}

/// True if the text must not be given to the parser.
pub(super) fn is_hostile(text: &str) -> bool {
    stack_for(text).is_none()
}

/// The bytes of stack that suffice to parse the text and to walk over its tree; `None` if the text must
/// not be given to the parser.
pub(in crate::engine) fn stack_for(text: &str) -> Option<usize> {
    let cost = Scanner::new(text.as_bytes()).peak()?;
    Some((cost * STACK_PER_COST).clamp(MIN_STACK, STACK))
}

/// True for words that nest what follows them without a bracket.
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

/// The same for words that are names elsewhere.
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

/// True for words that continue the statement or the expression before them.
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

/// True for words before `(` after whose `)` an expression or a statement begins.
fn is_head(word: &[u8]) -> bool {
    matches!(word, b"if" | b"while" | b"for" | b"with")
}

/// What the token before is, as far as the meaning of the next depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A value has ended: what follows is an operator, or a new statement.
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
    /// The cost of all levels but the last.
    below: usize,
    /// Elements of JSX that are open.
    elements: usize,
    before: Before,
    /// The token before was a word for which [`is_head`].
    after_head_word: bool,
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
        }
    }

    /// The cost at the token that stands deepest; `None` if it is above the limit.
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
        match byte {
            b'"' | b'\'' => {
                self.skip_string(byte);
                self.value();
            }
            b'`' => {
                self.at += 1;
                // A tag stands before it: it is a call.
                if self.before == Before::Value {
                    self.add(1);
                }
                self.template();
            }
            b'0'..=b'9' => {
                self.skip_word();
                self.value();
            }
            byte if is_word(byte) => self.word(),
            b'(' | b'[' | b'{' => self.open(byte, was_head_word),
            b')' | b']' | b'}' => self.close(byte),
            b'/' if self.begins_value() && self.skip_regex() => self.value(),
            _ => self.operator(byte),
        }
    }

    /// Skips white space and comments; true if there was the end of a line.
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

    /// A string ends with its line at the latest: then it is something else, such as an apostrophe
    /// in the text of an element.
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

    /// The statement in the innermost bracket has ended.
    fn end_statement(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            (level.cost, level.kept) = (0, 0);
        }
    }

    /// Two values on two lines: a semicolon is meant between them.
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

    /// True if the word at this place continues what is before it.
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
            // What is before it in a `switch` has ended.
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
            // What follows a bracket hangs on it: `f(a)(b)(c)`.
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
            // More are closed than were opened: the parser stops there.
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
            // An element, or type parameters: no value stands before it.
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
            // A prefix: what follows is inside of it.
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
