//! The body of an answer as received, compressed or not. It is inflated in one go, into memory that may
//! have been used before, and so on any thread: inflating frame by frame on arrival would slow the
//! thread that requests the next page, and fresh memory costs more than inflating.

use std::io::{self, BufReader, Read};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use http::{HeaderMap, HeaderValue, header};

/// The supported compression, for the header `Accept-Encoding`.
pub(crate) const ENCODINGS: HeaderValue = HeaderValue::from_static("gzip");

/// The longest body that is read, inflated.
pub(crate) const MOST: usize = 128 << 20;
/// The longest body of an answer without success.
pub(crate) const MOST_OF_ERROR: usize = 1 << 20;

/// The maximum ratio of deflate.
const MAX_RATIO: usize = 1032;

/// A body as received.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    gzip: bool,
    /// The maximum length, inflated.
    most: usize,
}

impl Packed {
    /// Takes a body and the headers of its answer; `most` limits how far it is read.
    pub(crate) fn new(bytes: Vec<u8>, headers: &HeaderMap, most: usize) -> Self {
        let encoding = headers.get(header::CONTENT_ENCODING).map_or(&[][..], HeaderValue::as_bytes);
        let gzip = ["gzip", "x-gzip"].iter().any(|it| encoding.eq_ignore_ascii_case(it.as_bytes()));
        Self { bytes, gzip, most }
    }

    /// Checks whether it is too long even before inflating.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.bytes.len() > self.most { Err(too_long(self.most)) } else { Ok(()) }
    }

    /// Returns the number of bytes received.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has to be inflated, which may take long.
    pub(crate) fn is_packed(&self) -> bool {
        self.gzip
    }

    /// Returns the content.
    pub(crate) fn unpack(self) -> io::Result<Bytes> {
        self.check()?;
        if !self.gzip {
            return Ok(self.bytes.into());
        }
        let mut memory = Vec::new();
        let length = self.inflate(&mut memory)?;
        memory.truncate(length);
        Ok(memory.into())
    }

    /// Stores the content at the start of `memory`, and returns it.
    pub(crate) fn unpack_into<'m>(&self, memory: &'m mut Vec<u8>) -> io::Result<&'m mut [u8]> {
        let length = match self.gzip {
            true => self.inflate(memory)?,
            false => {
                memory.clone_from(&self.bytes);
                self.len()
            }
        };
        Ok(&mut memory[..length])
    }

    /// Returns a reader of the content, which inflates only as much as is read.
    pub(crate) fn reader(&self) -> Box<dyn Read + '_> {
        if !self.gzip {
            return Box::new(&*self.bytes);
        }
        // Far more than precedes the items of a list.
        Box::new(BufReader::with_capacity(1024, self.inflater()))
    }

    fn inflater(&self) -> Limited<MultiGzDecoder<&[u8]>> {
        Limited { from: MultiGzDecoder::new(&*self.bytes), read: 0, most: self.most }
    }

    /// Returns the memory that holds it.
    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    /// Inflates to the start of `memory`, which only grows; returns the length.
    fn inflate(&self, memory: &mut Vec<u8>) -> io::Result<usize> {
        // The last four bytes state the length, which is trusted up to deflate's maximum ratio.
        let stated = self.bytes.last_chunk().map_or(0, |length| u32::from_le_bytes(*length));
        let most = self.bytes.len().saturating_mul(MAX_RATIO).min(self.most);
        let enough = usize::try_from(stated).unwrap_or(0).min(most) + 1;
        if memory.len() < enough {
            // The next body may well be a little longer.
            *memory = vec![0; enough + enough / 8];
        }
        let mut from = self.inflater();
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

/// Content with a maximum length.
struct Limited<R> {
    from: R,
    read: usize,
    most: usize,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let more = self.from.read(buffer)?;
        self.read += more;
        if self.read > self.most { Err(too_long(self.most)) } else { Ok(more) }
    }
}

fn too_long(most: usize) -> io::Error {
    io::Error::other(format!("the response is larger than {} MiB", most >> 20))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use flate2::{Compression, write::GzEncoder};
    use http::{HeaderMap, HeaderValue, header};

    use super::{ENCODINGS, MOST, Packed};

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn packed(bytes: Vec<u8>) -> Packed {
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, ENCODINGS)]);
        Packed::new(bytes, &headers, MOST)
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
        // The stated length covers only the last part.
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
    fn no_body_is_read_beyond_its_limit() {
        let most = 1 << 20;
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, ENCODINGS)]);
        for (length, fits) in [(most, true), (most + 1, false), (8 * most, false)] {
            let packed = gzip(&vec![b'a'; length]);
            let body = || Packed::new(packed.clone(), &headers, most);
            let mut memory = Vec::new();
            let mut read = Vec::new();
            let results = [
                body().unpack_into(&mut memory).map(|content| content.len()),
                body().reader().read_to_end(&mut read),
                body().unpack().map(|content| content.len()),
            ];
            assert!(memory.len() < 3 * most && read.len() <= most, "{length}");
            for result in results {
                match result {
                    Ok(read) => assert!(fits && read == length, "{length}"),
                    Err(e) => {
                        assert!(!fits, "{length}");
                        assert_eq!(e.to_string(), "the response is larger than 1 MiB");
                    }
                }
            }
        }
        let plain = |length| Packed::new(vec![b'a'; length], &HeaderMap::new(), most);
        assert!(plain(most).check().is_ok() && plain(most + 1).check().is_err());
        assert!(plain(most + 1).unpack().is_err());
    }

    #[test]
    fn gzip_is_known_by_all_its_names() {
        for (name, inflates) in
            [("gzip", true), ("GZIP", true), ("x-gzip", true), ("X-GZip", true), ("br", false)]
        {
            let name = HeaderValue::from_static(name);
            let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, name)]);
            let content = Packed::new(gzip(b"{}"), &headers, MOST).unpack().unwrap();
            assert_eq!(content == b"{}".as_slice(), inflates, "{headers:?}");
        }
    }

    #[test]
    fn what_is_not_compressed_stays() {
        let body = Packed::new(b"{}".to_vec(), &HeaderMap::new(), MOST);
        assert_eq!(body.unpack_into(&mut Vec::new()).unwrap(), b"{}");
        assert_eq!(body.unpack().unwrap(), b"{}".as_slice());
    }
}
