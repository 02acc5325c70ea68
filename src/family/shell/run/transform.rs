//! Transformations of values without JavaScript (spec cycod 53, 61, 64).

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use haft_tool::schema::encode_component;

/// One transformation of a value to text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Transform {
    Named(Named),
    /// `format(0000)`.
    Picture(String),
    /// JavaScript over `value`.
    Script(String),
}

/// The predefined transforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Named {
    Lowercase,
    Uppercase,
    Trim,
    Base64Encode,
    Base64Decode,
    UrlEncode,
    UrlDecode,
    JsonEscaped,
    ShellEscaped,
}

/// Padding is written, but not required when reading.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Named {
    pub(crate) fn from_name(name: &str) -> Option<Named> {
        name.parse().ok()
    }

    /// Applies the transformation. The error is a short reason.
    pub(crate) fn apply(self, text: &str) -> Result<String, String> {
        Ok(match self {
            Named::Lowercase => text.to_lowercase(),
            Named::Uppercase => text.to_uppercase(),
            // JavaScript's `trim` also removes the byte order mark.
            Named::Trim => text
                .trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
                .to_owned(),
            Named::Base64Encode => BASE64.encode(text),
            Named::Base64Decode => {
                let compact: String = text.split_ascii_whitespace().collect();
                let bytes = BASE64
                    .decode(compact)
                    .map_err(|_| "is not valid base64".to_owned())?;
                String::from_utf8(bytes)
                    .map_err(|_| "is base64 of bytes that are no UTF-8 text".to_owned())?
            }
            Named::UrlEncode => encode_component(text),
            Named::UrlDecode => url_decode(text)?,
            Named::JsonEscaped => {
                let json = serde_json::Value::from(text).to_string();
                json[1..json.len() - 1].to_owned()
            }
            Named::ShellEscaped => haft_shell_quote::shell_word(text),
        })
    }
}

fn url_decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        match (digit(), digit()) {
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => return Err("has a `%` that two hexadecimal digits do not follow".to_owned()),
        }
    }
    String::from_utf8(bytes)
        .map_err(|_| "is an encoding of bytes that are no UTF-8 text".to_owned())
}

/// Formats `number` (decimal digits, a sign, a point) by `picture`: `0` is always a digit, `#` a
/// digit if there is one, `.` the point, `,` between thousands. All other characters are text
/// around it.
pub(crate) fn picture(number: &str, picture: &str) -> Result<String, String> {
    let is_place = |c: char| matches!(c, '0' | '#' | '.' | ',');
    let Some(start) = picture.find(is_place) else {
        return Ok(picture.to_owned());
    };
    let end = picture.rfind(is_place).map_or(start, |at| at + 1);
    let (before, places, after) = (&picture[..start], &picture[start..end], &picture[end..]);
    if let Some(odd) = places.chars().find(|c| !is_place(*c)) {
        return Err(format!(
            "cannot be formatted: `{odd}` stands among the digits of `{picture}`"
        ));
    }
    let (whole_places, part_places) = places.split_once('.').unwrap_or((places, ""));
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let most = part_places.chars().filter(|c| *c != ',').count();
    let (whole, mut part) = rounded(whole, part, most);
    let least = part_places.chars().filter(|c| *c == '0').count();
    while part.len() > least && part.ends_with('0') {
        part.pop();
    }
    let width = whole_places.chars().filter(|c| *c == '0').count();
    let mut whole = whole.trim_start_matches('0').to_owned();
    whole.insert_str(0, &"0".repeat(width.saturating_sub(whole.len())));
    if whole_places.contains(',') {
        whole = with_thousands(&whole);
    }
    let is_zero = !whole
        .chars()
        .chain(part.chars())
        .any(|c| c.is_ascii_digit() && c != '0');
    let sign = if is_zero { "" } else { sign };
    let point = if part.is_empty() { "" } else { "." };
    Ok(format!("{before}{sign}{whole}{point}{part}{after}"))
}

/// Rounds to `places` digits after the point; a half is rounded away from zero.
fn rounded(whole: &str, part: &str, places: usize) -> (String, String) {
    let mut kept: String = part.chars().take(places).collect();
    kept.extend(std::iter::repeat_n('0', places - kept.len()));
    let mut digits: Vec<u8> = whole.bytes().chain(kept.bytes()).collect();
    if part
        .as_bytes()
        .get(places)
        .is_some_and(|next| *next >= b'5')
    {
        let nine = digits.iter().rposition(|digit| *digit != b'9');
        let after = nine.map_or(0, |at| at + 1);
        digits[after..].fill(b'0');
        match nine {
            Some(at) => digits[at] += 1,
            None => digits.insert(0, b'1'),
        }
    }
    let text: String = digits.into_iter().map(char::from).collect();
    let (whole, part) = text.split_at(text.len() - places);
    (whole.to_owned(), part.to_owned())
}

fn with_thousands(digits: &str) -> String {
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
