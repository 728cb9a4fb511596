//! The body of an answer as it came, compressed or not. It is inflated in one go, into memory that
//! may have served before, and so on any thread: frame after frame on the way in would cost the
//! thread that asks for the next page, and fresh memory costs more than the inflating.

use std::io::{self, BufReader, Read};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use http::{HeaderMap, HeaderValue, header};

/// Compression that can be undone, for the header `Accept-Encoding`.
pub(super) const ENCODINGS: HeaderValue = HeaderValue::from_static("gzip");

/// Deflate makes no content shorter than by this factor.
const MAX_RATIO: usize = 1032;

/// A body as it came.
#[derive(Debug)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    gzip: bool,
}

impl Packed {
    /// A body with the headers of its answer.
    pub(super) fn new(bytes: Vec<u8>, headers: &HeaderMap) -> Self {
        let encoding = headers.get(header::CONTENT_ENCODING);
        Self { bytes, gzip: encoding.is_some_and(|encoding| encoding == ENCODINGS) }
    }

    /// The bytes that came.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The content.
    pub(super) fn unpack(self) -> io::Result<Bytes> {
        if !self.gzip {
            return Ok(self.bytes.into());
        }
        let mut memory = Vec::new();
        let length = self.inflate(&mut memory)?;
        memory.truncate(length);
        Ok(memory.into())
    }

    /// The content, kept in `memory` where it has to be kept anywhere.
    pub(super) fn unpack_into<'a>(&'a self, memory: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        if !self.gzip {
            return Ok(&self.bytes);
        }
        let length = self.inflate(memory)?;
        Ok(&memory[..length])
    }

    /// The content from its start, inflated no further than it is read.
    pub(super) fn reader(&self) -> Box<dyn Read + '_> {
        if !self.gzip {
            return Box::new(&*self.bytes);
        }
        // Far more than what is before the items of a list.
        Box::new(BufReader::with_capacity(1024, MultiGzDecoder::new(&*self.bytes)))
    }

    /// What it is in.
    pub(super) fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    /// Inflates to the start of `memory`, which is only made longer; says how much it is.
    fn inflate(&self, memory: &mut Vec<u8>) -> io::Result<usize> {
        // The last four bytes state the length, which is trusted as far as deflate can go.
        let stated = self.bytes.last_chunk().map_or(0, |length| u32::from_le_bytes(*length));
        let most = self.bytes.len().saturating_mul(MAX_RATIO);
        let enough = usize::try_from(stated).unwrap_or(0).min(most) + 1;
        if memory.len() < enough {
            // The next body may well be a little longer.
            *memory = vec![0; enough + enough / 8];
        }
        let mut from = MultiGzDecoder::new(&*self.bytes);
        let mut length = 0;
        loop {
            match from.read(&mut memory[length..])? {
                0 => return Ok(length),
                more => length += more,
            }
            if length == memory.len() {
                memory.resize(2 * length, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use flate2::{Compression, write::GzEncoder};
    use http::{HeaderMap, header};

    use super::{ENCODINGS, Packed};

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn packed(bytes: Vec<u8>) -> Packed {
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, ENCODINGS)]);
        Packed::new(bytes, &headers)
    }

    #[test]
    fn the_content_comes_out_whatever_the_memory_held() {
        let long: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
        let mut memory = Vec::new();
        for content in [&long[..], b"short", b"", &long[..70_000]] {
            let body = packed(gzip(content));
            assert_eq!(body.unpack_into(&mut memory).unwrap(), content);
            let mut read = Vec::new();
            body.reader().read_to_end(&mut read).unwrap();
            assert_eq!(read, content);
            assert_eq!(body.unpack().unwrap(), content);
        }
    }

    #[test]
    fn parts_that_follow_each_other_are_one_content() {
        // The stated length is that of the last part only.
        let parts = [gzip(&[b'a'; 10_000]), gzip(b"b")].concat();
        let content = packed(parts).unpack().unwrap();
        assert_eq!((content.len(), content.last()), (10_001, Some(&b'b')));
    }

    #[test]
    fn damage_is_told() {
        let whole = gzip(&[b'a'; 10_000]);
        for damaged in [&whole[..whole.len() - 9], &whole[..20], &whole[1..], b"{}", b""] {
            assert!(packed(damaged.to_vec()).unpack().is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn what_is_not_compressed_stays() {
        let body = Packed::new(b"{}".to_vec(), &HeaderMap::new());
        assert_eq!(body.unpack_into(&mut Vec::new()).unwrap(), b"{}");
        assert_eq!(body.unpack().unwrap(), b"{}".as_slice());
    }
}
