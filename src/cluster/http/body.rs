//! The body of an answer as received, compressed or not. It is inflated in one go, into memory that may
//! have been used before, and so on any thread: inflating frame by frame on arrival would slow the
//! thread that requests the next page, and fresh memory costs more than inflating.

use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use http::{HeaderMap, HeaderValue, header};

/// The supported compression, for the header `Accept-Encoding`.
pub(crate) const ENCODINGS: HeaderValue = HeaderValue::from_static("gzip");

/// The length of an answer that is read faster than another thread could start.
const SHORT: usize = 64 << 10;

/// The longest body that is read, inflated.
pub(crate) const MOST: usize = 128 << 20;
/// The longest body of an answer without success.
pub(crate) const MOST_OF_ERROR: usize = 1 << 20;

/// The maximum memory of all bodies that a session holds at once, compressed and inflated.
pub(crate) const MOST_AT_ONCE: usize = 256 << 20;

/// The maximum ratio of deflate.
const MAX_RATIO: usize = 1032;

/// Memory of a body, counted in the total of its session until it is dropped.
#[derive(Debug, Default)]
pub(crate) struct HeldMemory {
    total: Arc<AtomicUsize>,
    bytes: usize,
}

impl HeldMemory {
    /// Returns a holder of no bytes yet.
    pub(crate) fn of(total: &Arc<AtomicUsize>) -> Self {
        Self {
            total: Arc::clone(total),
            bytes: 0,
        }
    }

    /// Holds this number of bytes instead of the previous number.
    pub(crate) fn resize(&mut self, bytes: usize) -> io::Result<()> {
        let total = self.total.fetch_add(bytes, Ordering::Relaxed) + bytes - self.bytes;
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
        if total > MOST_AT_ONCE {
            let most = MOST_AT_ONCE >> 20;
            let cause = format!("the responses that arrive at once are larger than {most} MiB");
            return Err(io::Error::other(cause));
        }
        Ok(())
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The content of an answer, inflated. Only a session reads it, so that reading never delays a deadline.
#[derive(Debug, Clone)]
pub struct Body {
    content: Bytes,
    held: Arc<HeldMemory>,
}

impl Body {
    /// Whether the body is read faster than another thread could start.
    pub(super) fn is_short(&self) -> bool {
        self.content.len() <= SHORT
    }

    /// Holds the same amount of memory again for a value that is derived from the body, until that is dropped.
    pub(crate) fn hold_again(&self) -> io::Result<HeldMemory> {
        let mut held = HeldMemory::of(&self.held.total);
        held.resize(self.content.len())?;
        Ok(held)
    }

    /// Returns the reader's result for the body.
    pub(super) fn read<T>(&self, reader: impl FnOnce(&[u8]) -> T) -> T {
        reader(&self.content)
    }
}

/// A body as received.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    pub(super) bytes: Vec<u8>,
    held: HeldMemory,
    /// Whether it has to be inflated, which may take long.
    pub(super) gzip: bool,
    /// The maximum length, inflated.
    most: usize,
}

impl Packed {
    /// Takes a body and the headers of its answer; `most` limits the length that is read.
    pub(crate) fn new(bytes: Vec<u8>, held: HeldMemory, headers: &HeaderMap, most: usize) -> Self {
        let encoding = headers
            .get(header::CONTENT_ENCODING)
            .map_or(&[][..], HeaderValue::as_bytes);
        let gzip = ["gzip", "x-gzip"]
            .iter()
            .any(|it| encoding.eq_ignore_ascii_case(it.as_bytes()));
        Self {
            bytes,
            held,
            gzip,
            most,
        }
    }

    /// Checks whether it is too long even before inflating.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.bytes.len() > self.most {
            Err(too_long(self.most))
        } else {
            Ok(())
        }
    }

    /// Returns the number of bytes received.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the body is read faster than another thread could start.
    pub(crate) fn is_short(&self) -> bool {
        !self.gzip && self.len() <= SHORT
    }

    /// Returns the content.
    pub(crate) fn unpack(self) -> io::Result<Body> {
        self.check()?;
        if !self.gzip {
            return Ok(Body {
                content: self.bytes.into(),
                held: self.held.into(),
            });
        }
        let (mut memory, mut held) = (Vec::new(), HeldMemory::of(&self.held.total));
        let length = self.inflate(&mut memory, &mut |size| held.resize(size))?;
        memory.truncate(length);
        Ok(Body {
            content: memory.into(),
            held: held.into(),
        })
    }

    /// Stores the content at the start of `memory`, and returns it.
    pub(crate) fn unpack_into<'m>(&self, memory: &'m mut Vec<u8>) -> io::Result<&'m mut [u8]> {
        let length = if self.gzip {
            // A page of a list; each thread inflates one.
            self.inflate(memory, &mut |_| Ok(()))?
        } else {
            memory.clone_from(&self.bytes);
            self.len()
        };
        Ok(&mut memory[..length])
    }

    /// Returns a reader of the content, which inflates only as much as is read.
    pub(crate) fn reader(&self) -> Box<dyn Read + '_> {
        if !self.gzip {
            return Box::new(&*self.bytes);
        }
        // This is far more than the text that precedes the items of a list.
        Box::new(BufReader::with_capacity(1024, self.inflater()))
    }

    fn inflater(&self) -> LimitedReader<MultiGzDecoder<&[u8]>> {
        LimitedReader {
            from: MultiGzDecoder::new(&*self.bytes),
            read: 0,
            most: self.most,
        }
    }

    /// Inflates to the start of `memory`, which only grows, if `may_grow` to a size; returns the length.
    fn inflate(
        &self,
        memory: &mut Vec<u8>,
        may_grow: &mut dyn FnMut(usize) -> io::Result<()>,
    ) -> io::Result<usize> {
        // The last four bytes state the length, which is trusted up to deflate's maximum ratio.
        let stated = self
            .bytes
            .last_chunk()
            .map_or(0, |length| u32::from_le_bytes(*length));
        let most = self.bytes.len().saturating_mul(MAX_RATIO).min(self.most);
        let enough = usize::try_from(stated).unwrap_or(0).min(most) + 1;
        if memory.len() < enough {
            // The next body may well be a little longer.
            let size = enough + enough / 8;
            may_grow(size)?;
            *memory = vec![0; size];
        }
        let mut from = self.inflater();
        let mut length = 0;
        loop {
            match from.read(&mut memory[length..])? {
                0 => return Ok(length),
                more => length += more,
            }
            if length == memory.len() {
                let size = (2 * length).min(self.most + 1).max(length + 1);
                may_grow(size)?;
                memory.resize(size, 0);
            }
        }
    }
}

/// Content with a maximum length.
struct LimitedReader<R> {
    from: R,
    read: usize,
    most: usize,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let more = self.from.read(buffer)?;
        self.read += more;
        if self.read > self.most {
            Err(too_long(self.most))
        } else {
            Ok(more)
        }
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

    use super::{Body, ENCODINGS, HeldMemory, MOST, MOST_AT_ONCE, Packed};

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn packed(bytes: Vec<u8>) -> Packed {
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, ENCODINGS)]);
        Packed::new(bytes, HeldMemory::default(), &headers, MOST)
    }

    fn unpacked(body: Packed) -> Vec<u8> {
        body.unpack().unwrap().read(<[u8]>::to_vec)
    }

    #[test]
    fn the_content_comes_out_whatever_the_memory_held() {
        let long: Vec<u8> = (0..300_000_u32)
            .map(|number| (number % 251) as u8)
            .collect();
        let mut memory = Vec::new();
        for content in [&long[..], b"short", b"", &long[..70_000]] {
            let body = packed(gzip(content));
            assert_eq!(body.unpack_into(&mut memory).unwrap(), content);
            let mut read = Vec::new();
            body.reader().read_to_end(&mut read).unwrap();
            assert_eq!(read, content);
            assert_eq!(unpacked(body), content);
        }
    }

    #[test]
    fn parts_that_follow_each_other_are_one_content() {
        // The stated length covers only the last part.
        let parts = [gzip(&[b'a'; 10_000]), gzip(b"b")].concat();
        let content = unpacked(packed(parts));
        assert_eq!((content.len(), content.last()), (10_001, Some(&b'b')));
    }

    #[test]
    fn damage_is_told() {
        let whole = gzip(&[b'a'; 10_000]);
        for damaged in [
            &whole[..whole.len() - 9],
            &whole[..20],
            &whole[1..],
            b"{}",
            b"",
        ] {
            assert!(packed(damaged.to_vec()).unpack().is_err(), "{damaged:?}");
        }
    }

    #[test]
    fn no_body_is_read_beyond_its_limit() {
        let most = 1 << 20;
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, ENCODINGS)]);
        for (length, fits) in [(most, true), (most + 1, false), (8 * most, false)] {
            let packed = gzip(&vec![b'a'; length]);
            let body = || Packed::new(packed.clone(), HeldMemory::default(), &headers, most);
            let mut memory = Vec::new();
            let mut read = Vec::new();
            let results = [
                body().unpack_into(&mut memory).map(|content| content.len()),
                body().reader().read_to_end(&mut read),
                body().unpack().map(|body| body.read(<[u8]>::len)),
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
        let plain = |length| {
            Packed::new(
                vec![b'a'; length],
                HeldMemory::default(),
                &HeaderMap::new(),
                most,
            )
        };
        assert!(plain(most).check().is_ok() && plain(most + 1).check().is_err());
        assert!(plain(most + 1).unpack().is_err());
    }

    #[test]
    fn gzip_is_known_by_all_its_names() {
        for (name, inflates) in [
            ("gzip", true),
            ("GZIP", true),
            ("x-gzip", true),
            ("X-GZip", true),
            ("br", false),
        ] {
            let name = HeaderValue::from_static(name);
            let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, name)]);
            let content = unpacked(Packed::new(
                gzip(b"{}"),
                HeldMemory::default(),
                &headers,
                MOST,
            ));
            assert_eq!(content == b"{}", inflates, "{headers:?}");
        }
    }

    #[test]
    fn what_is_not_compressed_stays() {
        let body = Packed::new(
            b"{}".to_vec(),
            HeldMemory::default(),
            &HeaderMap::new(),
            MOST,
        );
        assert_eq!(body.unpack_into(&mut Vec::new()).unwrap(), b"{}");
        assert_eq!(unpacked(body), b"{}");
    }

    #[test]
    fn bodies_that_are_held_at_once_have_a_limit_together() {
        let total = std::sync::Arc::default();
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, ENCODINGS)]);
        let packed = gzip(&vec![b'a'; 1 << 20]);
        let body = || Packed::new(packed.clone(), HeldMemory::of(&total), &headers, MOST).unpack();
        let mut arriving = HeldMemory::of(&total);
        arriving.resize(MOST_AT_ONCE - (3 << 20)).unwrap();
        let held: Vec<Body> = (0..2).map(|_| body().unwrap()).collect();
        let e = body().unwrap_err();
        assert_eq!(
            e.to_string(),
            "the responses that arrive at once are larger than 256 MiB"
        );
        drop(held);
        assert!(body().is_ok());
        assert!(
            arriving.resize(MOST_AT_ONCE).is_ok() && arriving.resize(MOST_AT_ONCE + 1).is_err()
        );
    }
}
