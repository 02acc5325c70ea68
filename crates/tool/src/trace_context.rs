//! Trace context of W3C: the place of a call in a trace of OpenTelemetry.

use std::fmt;
use std::sync::Arc;

/// Maximum length of a trace state that is passed on, by the recommendation of W3C.
const MAX_STATE_BYTES: usize = 512;

/// Flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// A span as others refer to it: its trace, its id, and what travels with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the trace; not zero.
    pub trace: [u8; 16],
    /// Id of the span; not zero.
    pub span: [u8; 8],
    /// Flags of `traceparent`.
    pub flags: u8,
    /// The `tracestate` of other systems, which is passed on as it is.
    pub state: Option<Arc<str>>,
}

impl TraceContext {
    /// Parses a `traceparent` with its `tracestate`. Returns `None` for an invalid one, which counts
    /// as none.
    pub fn parse(parent: &str, state: Option<&str>) -> Option<TraceContext> {
        let mut parts = parent.trim().split('-');
        let version = bytes::<1>(parts.next()?)?;
        let (trace, span) = (bytes(parts.next()?)?, bytes(parts.next()?)?);
        let [flags] = bytes(parts.next()?)?;
        // Later versions may have more parts.
        let is_known = match version {
            [0] => parts.next().is_none(),
            [0xff] => false,
            _ => true,
        };
        let is_valid = is_known && trace != [0; 16] && span != [0; 8];
        let state = state.map(str::trim);
        let state = state.filter(|state| !state.is_empty() && state.len() <= MAX_STATE_BYTES);
        let state = state.filter(|state| state.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        is_valid.then(|| TraceContext {
            trace,
            span,
            flags,
            state: state.map(Arc::from),
        })
    }

    /// Returns the context of another span of the same trace.
    pub fn with_span(&self, span: [u8; 8]) -> TraceContext {
        TraceContext {
            span,
            ..self.clone()
        }
    }

    /// Returns the id of the trace in hexadecimal digits.
    pub fn trace_id(&self) -> String {
        hex(&self.trace)
    }

    /// Returns true if the trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

impl fmt::Display for TraceContext {
    /// Writes the `traceparent`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "00-{}-{}-{:02x}",
            hex(&self.trace),
            hex(&self.span),
            self.flags
        )
    }
}

/// Parses exactly `N` bytes in lower-case hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a text never fails.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::TraceContext;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_traceparent_is_read_and_written() {
        let context = TraceContext::parse(PARENT, Some("vendor=1")).expect("it is valid");
        assert_eq!(context.to_string(), PARENT);
        assert_eq!(context.trace_id(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(context.state.as_deref(), Some("vendor=1"));
        assert!(context.is_sampled());
        let later = PARENT.replacen("00", "01", 1) + "-more";
        let later = TraceContext::parse(&later, Some("line\nbreak")).expect("it is valid");
        assert_eq!(later.to_string(), PARENT);
        assert_eq!(later.state, None);
    }

    #[test]
    fn an_invalid_traceparent_counts_as_none() {
        let zero = |digits: usize| "0".repeat(digits);
        for invalid in [
            String::new(),
            "00".to_owned(),
            PARENT.to_uppercase(),
            PARENT.replacen("00", "ff", 1),
            format!("{PARENT}-more"),
            format!("00-{}-b7ad6b7169203331-01", zero(32)),
            format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", zero(16)),
            PARENT.replace("-01", "-1"),
            PARENT.replace("0af7", "0äf"),
        ] {
            assert_eq!(TraceContext::parse(&invalid, None), None, "{invalid}");
        }
    }
}
