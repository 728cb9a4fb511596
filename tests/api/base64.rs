//! The two base64 alphabets that the API uses: kubeconfig data has the padded standard one,
//! continue tokens the unpadded one for URLs.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Encodes as kubeconfig's `*-data` fields want it.
pub(crate) fn standard(data: &[u8]) -> String {
    let mut text = encode(data, STANDARD);
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// Encodes as Go's `base64.RawURLEncoding`.
pub(crate) fn url(data: &[u8]) -> String {
    encode(data, URL)
}

/// Decodes the output of [`url`]. The error is the offset of the invalid byte, as in Go.
pub(crate) fn decode_url(text: &str) -> Result<Vec<u8>, usize> {
    let mut data = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for (at, byte) in text.bytes().enumerate() {
        let value = URL.iter().position(|c| *c == byte).ok_or(at)?;
        bits = bits << 6 | u32::try_from(value).expect("an index below 64");
        held += 6;
        if held >= 8 {
            held -= 8;
            data.push(u8::try_from(bits >> held & 0xff).expect("eight bits"));
        }
    }
    if text.len() % 4 == 1 {
        return Err(text.len());
    }
    Ok(data)
}

fn encode(data: &[u8], alphabet: &[u8; 64]) -> String {
    let mut text = String::new();
    for chunk in data.chunks(3) {
        let mut bytes = [0; 3];
        bytes[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        for sextet in 0..=chunk.len() {
            let index = bits >> (18 - 6 * sextet) & 63;
            text.push(char::from(alphabet[index as usize]));
        }
    }
    text
}
