//! Limits of a handler: its timeout and its sizes.

use std::time::Duration;

use super::json::{Fault, Fields};

/// Limit of JavaScript timers, for which the format was made: 24 days.
const MAX_TIMEOUT_MS: f64 = 2_147_483_647.0;

/// Returns the handler's `timeout` in milliseconds, or `default`; `None` and a fault if it is
/// invalid.
pub(super) fn timeout(
    handler_name: &str,
    handler: &Fields<'_>,
    default: Duration,
    faults: &mut Vec<Fault>,
) -> Option<Duration> {
    let Some(given) = handler.get("timeout") else {
        return Some(default);
    };
    let number = given
        .number()
        .filter(|ms| *ms > 0.0 && *ms <= MAX_TIMEOUT_MS);
    if number.is_none() {
        faults.push(given.fault(format!(
            "{handler_name} timeout must be a number of milliseconds above 0 and not above \
             {MAX_TIMEOUT_MS}"
        )));
    }
    number.map(|ms| Duration::from_secs_f64(ms / 1000.0))
}

/// Returns a whole number of bytes from the field of that name, or `default`.
pub(super) fn bytes(
    handler_name: &str,
    handler: &Fields<'_>,
    name: &str,
    default: u64,
    faults: &mut Vec<Fault>,
) -> Option<u64> {
    let Some(given) = handler.get(name) else {
        return Some(default);
    };
    let number = given.value().as_u64().or_else(|| {
        // `1e6` is a whole number as well.
        let float = given.number()?;
        let is_whole = float.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&float);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and in the range"
        )]
        is_whole.then_some(float as u64)
    });
    if number.is_none() {
        faults.push(given.fault(format!(
            "{handler_name} {name} must be a whole number of bytes, 0 or more"
        )));
    }
    number
}
