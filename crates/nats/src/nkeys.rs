//! Keys of NATS: Ed25519 seeds in base32, and files with a token and a seed (`.creds`).

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// First byte of the public key of a user.
const USER: u8 = 20 << 3;

/// First five bits of a seed.
const SEED: u8 = 18 << 3;

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Key of a user.
pub(crate) struct UserKey {
    pair: Ed25519KeyPair,
    public: String,
}

impl UserKey {
    /// Reads the seed of a user: `SU…`.
    pub(crate) fn from_seed(seed: &str) -> Result<UserKey, String> {
        let bytes = decoded(seed.trim()).ok_or("it is not a seed of nkeys")?;
        let (Some([first, second]), Some(secret)) = (bytes.first_chunk::<2>(), bytes.get(2..34))
        else {
            return Err("it is not a seed of nkeys".to_owned());
        };
        let kind = (first & 7) << 5 | second >> 3;
        if bytes.len() != 34 || first & 0xf8 != SEED || kind != USER {
            return Err("it is not the seed of a user (`SU…`)".to_owned());
        }
        let pair = Ed25519KeyPair::from_seed_unchecked(secret)
            .map_err(|_| "it is not the seed of a key")?;
        let mut public = vec![USER];
        public.extend_from_slice(pair.public_key().as_ref());
        Ok(UserKey {
            public: encoded(public),
            pair,
        })
    }

    /// Returns the public key: `U…`.
    pub(crate) fn public(&self) -> &str {
        &self.public
    }

    /// Returns the signature of a text.
    pub(crate) fn sign(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.pair.sign(text.as_bytes()))
    }
}

/// Takes the token and the seed out of the text of a `.creds` file.
pub(crate) fn credentials(text: &str) -> Result<(String, String), String> {
    let block = |name: &str| {
        let begin = format!("-----BEGIN {name}-----");
        let (_, rest) = text.split_once(&begin)?;
        let (block, _) = rest.split_once("---")?;
        Some(block.trim().trim_end_matches('-').trim().to_owned())
    };
    match (block("NATS USER JWT"), block("USER NKEY SEED")) {
        (Some(token), Some(seed)) => Ok((token, seed)),
        (None, _) => Err("it has no block `NATS USER JWT`".to_owned()),
        (_, None) => Err("it has no block `USER NKEY SEED`".to_owned()),
    }
}

/// Returns the bytes with their checksum in base32.
fn encoded(mut bytes: Vec<u8>) -> String {
    let checksum = crc16(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    let mut text = String::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            text.push(char::from(ALPHABET[(bits >> count & 31) as usize]));
        }
        bits &= (1 << count) - 1;
    }
    if count > 0 {
        text.push(char::from(ALPHABET[(bits << (5 - count) & 31) as usize]));
    }
    text
}

/// Returns the bytes of base32 without their checksum; `None` if it is wrong.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter)?;
        bits = bits << 5 | u32::try_from(value).ok()?;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    let (payload, checksum) = bytes.split_last_chunk::<2>()?;
    (crc16(payload).to_le_bytes() == *checksum).then(|| payload.to_vec())
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            let shifted = crc << 1;
            if crc & 0x8000 == 0 {
                shifted
            } else {
                shifted ^ 0x1021
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the documentation of nkeys; it opens nothing.
    const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    const PUBLIC: &str = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";

    #[test]
    fn a_seed_has_its_public_key_and_signs() {
        let key = UserKey::from_seed(&format!("{SEED}\n")).expect("it is valid");
        assert_eq!(key.public(), PUBLIC);
        let public = decoded(PUBLIC).expect("it is valid");
        let public = aws_lc_rs::signature::UnparsedPublicKey::new(
            &aws_lc_rs::signature::ED25519,
            &public[1..],
        );
        let signature = URL_SAFE_NO_PAD.decode(key.sign("nonce")).expect("base64");
        public.verify(b"nonce", &signature).expect("it is signed");
    }

    #[test]
    fn other_keys_are_refused() {
        let account = SEED.replacen("SU", "SA", 1);
        let damaged = SEED.replacen("CSSL", "CSSM", 1);
        for seed in [&account, &damaged, "", "SU", PUBLIC, "not base32!", "ÄÖÜ"] {
            assert!(UserKey::from_seed(seed).is_err(), "{seed}");
        }
    }

    #[test]
    fn credentials_have_a_token_and_a_seed() {
        let text = format!(
            "-----BEGIN NATS USER JWT-----\nabc.d-e-f.ghi\n------END NATS USER JWT------\n\n\
             ****** IMPORTANT ******\n\n-----BEGIN USER NKEY SEED-----\n{SEED}\n\
             ------END USER NKEY SEED------\n"
        );
        let found = credentials(&text).expect("they are valid");
        assert_eq!(found, ("abc.d-e-f.ghi".to_owned(), SEED.to_owned()));
        assert!(credentials("").is_err());
        assert!(credentials(&text.replace("NKEY", "KEY")).is_err());
    }
}
