//! Code that is nested so deeply that reading it would exhaust any stack.
//!
//! Parsers are recursive, ours as well, and what they read here is a stranger's and not trusted yet.
//! Both bounds are far above anything that people or bundlers write.

/// Brackets inside of one another.
const BRACKETS: usize = 2000;

/// Operators, words and spaces between two ends of a list's element or a statement.
const CHAIN: usize = 50_000;

/// The stack that suffices for whatever is below the bounds. Only what is used takes memory.
pub(super) const STACK: usize = 512 << 20;

/// What is on such a stack besides: whoever finds many graphs, and compiles files meanwhile.
const BESIDES: usize = 64 << 20;

/// Runs `work`, which finds the graphs of many modules, on a stack that is deep enough for each of them.
/// Without it each gets one of its own, and to map so much and give it back holds up every other thread
/// that needs memory.
pub fn on_deep_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK + BESIDES, STACK + BESIDES, work)
}

/// True if the text must not be given to the parser. Strings and comments count like code.
pub(in crate::engine) fn is_hostile(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut brackets, mut chain) = (0_usize, 0_usize);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => brackets += 1,
            b')' | b']' | b'}' => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        match byte {
            b',' => chain = 0,
            // `else` goes on with the same statement.
            b';' | b'}' if !bytes[at + 1..].trim_ascii_start().starts_with(b"else") => chain = 0,
            byte if byte.is_ascii_alphanumeric() => {}
            _ => chain += 1,
        }
        if brackets > BRACKETS || chain > CHAIN {
            return true;
        }
    }
    false
}
