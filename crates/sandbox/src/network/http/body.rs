//! Decoding a body while it is read, within a limit.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Plain,
    Gzip,
    Deflate,
}

impl Coding {
    /// Parses `Content-Encoding`.
    pub(super) fn named(value: Option<&[u8]>) -> Option<Coding> {
        match value
            .map(<[u8]>::to_ascii_lowercase)
            .as_deref()
            .map(<[u8]>::trim_ascii)
        {
            None | Some(b"" | b"identity") => Some(Coding::Plain),
            Some(b"gzip" | b"x-gzip") => Some(Coding::Gzip),
            Some(b"deflate") => Some(Coding::Deflate),
            Some(_) => None,
        }
    }
}

/// Collects the bytes of a body as they arrive.
pub(super) struct Body {
    decoder: Decoder,
    /// How many more raw bytes to accept. Compressed bytes rarely outnumber the decoded ones, but
    /// an endless stream can decode to nothing.
    left: usize,
    full: bool,
}

enum Decoder {
    Plain(BoundedBuffer),
    Gzip(MultiGzDecoder<BoundedBuffer>),
    /// Both zlib and raw deflate are called deflate; the first two bytes tell which it is.
    Undecided(Vec<u8>, BoundedBuffer),
    Zlib(ZlibDecoder<BoundedBuffer>),
    Raw(DeflateDecoder<BoundedBuffer>),
}

/// Bytes up to a limit; more are an error.
#[derive(Default)]
struct BoundedBuffer {
    bytes: Vec<u8>,
    most: usize,
    over: bool,
}

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.most - self.bytes.len());
        self.bytes
            .extend_from_slice(bytes.get(..fits).unwrap_or_default());
        if fits < bytes.len() {
            self.over = true;
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Body {
    /// An empty body that may grow to `most` bytes.
    pub(super) fn new(coding: Coding, most: usize) -> Body {
        let room = BoundedBuffer {
            most,
            ..BoundedBuffer::default()
        };
        let decoder = match coding {
            Coding::Plain => Decoder::Plain(room),
            Coding::Gzip => Decoder::Gzip(MultiGzDecoder::new(room)),
            Coding::Deflate => Decoder::Undecided(Vec::new(), room),
        };
        Body {
            decoder,
            left: most.saturating_add(1024),
            full: false,
        }
    }

    /// Takes more bytes; returns whether there is room for others.
    pub(super) fn take(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let fits = bytes.len().min(self.left);
        self.left -= fits;
        self.full |= fits < bytes.len();
        let done = self.write(bytes.get(..fits).unwrap_or_default());
        self.full |= self.room().over;
        match done {
            Err(error) if !self.full => Err(error),
            _ => Ok(!self.full),
        }
    }

    /// The decoded bytes, and whether there were more.
    pub(super) fn end(mut self) -> io::Result<(Vec<u8>, bool)> {
        if let Decoder::Undecided(first, room) = self.decoder {
            // Too short to be either.
            return Ok((if first.is_empty() { room.bytes } else { first }, self.full));
        }
        // No bytes at all are an empty body in every encoding.
        let nothing = self.room().most.saturating_add(1024) == self.left;
        let finished = match &mut self.decoder {
            Decoder::Gzip(gzip) => gzip.try_finish(),
            Decoder::Zlib(zlib) => zlib.try_finish(),
            Decoder::Raw(raw) => raw.try_finish(),
            Decoder::Plain(_) | Decoder::Undecided(..) => Ok(()),
        };
        self.full |= self.room().over;
        match finished {
            Err(error) if !self.full && !nothing => Err(error),
            _ => Ok((std::mem::take(&mut self.room().bytes), self.full)),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Decoder::Undecided(first, room) = &mut self.decoder {
            first.extend_from_slice(bytes);
            let &[a, b, ..] = first.as_slice() else {
                return Ok(());
            };
            let (first, room) = (std::mem::take(first), std::mem::take(room));
            let zlib = a & 0xf == 8 && u16::from_be_bytes([a, b]).is_multiple_of(31);
            self.decoder = if zlib {
                Decoder::Zlib(ZlibDecoder::new(room))
            } else {
                Decoder::Raw(DeflateDecoder::new(room))
            };
            return self.write(&first);
        }
        match &mut self.decoder {
            Decoder::Plain(room) => room.write_all(bytes),
            Decoder::Gzip(gzip) => gzip.write_all(bytes),
            Decoder::Zlib(zlib) => zlib.write_all(bytes),
            Decoder::Raw(raw) => raw.write_all(bytes),
            Decoder::Undecided(..) => Ok(()),
        }
    }

    fn room(&mut self) -> &mut BoundedBuffer {
        match &mut self.decoder {
            Decoder::Plain(room) | Decoder::Undecided(_, room) => room,
            Decoder::Gzip(gzip) => gzip.get_mut(),
            Decoder::Zlib(zlib) => zlib.get_mut(),
            Decoder::Raw(raw) => raw.get_mut(),
        }
    }
}
