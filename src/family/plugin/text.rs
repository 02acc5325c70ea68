//! Arguments as text, as JavaScript's `String()` converts them: the templates were written for
//! that.
//!
//! Numbers are the difficult part: `1.0` is `1`, `1e21` is `1e+21`. Whole numbers of 64 bits keep
//! every digit, where JavaScript would round them.

use serde_json::{Number, Value};

/// Returns the text of a value. Arrays and objects are their JSON text.
pub(super) fn of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => of_number(number),
        other => other.to_string(),
    }
}

fn of_number(number: &Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    match number.as_f64() {
        Some(float) => of_float(float),
        None => number.to_string(),
    }
}

/// Returns the shortest digits that read back as the same number, formatted as by ECMAScript
/// (Number::toString): plain from 1e-7 to 1e21, with an exponent beyond.
fn of_float(float: f64) -> String {
    if float == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{:e}", float.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = mantissa.replace('.', "");
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // Where the decimal point stands: the number is 0.digits times ten to this.
    let point = exponent.parse::<i32>().unwrap_or_default() + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let text = if count <= point && point <= 21 {
        format!("{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or_default());
        format!("{whole}.{fraction}")
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else {
        let (first, rest) = digits.split_at(1);
        let fraction = if rest.is_empty() {
            String::new()
        } else {
            format!(".{rest}")
        };
        let exponent = point - 1;
        format!("{first}{fraction}e{exponent:+}")
    };
    if float < 0.0 {
        format!("-{text}")
    } else {
        text
    }
}
