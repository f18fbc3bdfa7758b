//! The submodules that an index holds: entries of mode 160000, in whose folders Git starts itself.
//!
//! The format: a header, the entries sorted by name, then extensions, then a checksum. An entry has
//! fixed facts, the name of its object and its own name; in version 4 the name shares its start with
//! the one before. Git can find a name in two ways, by its length and by its end, and the entries in
//! two ways, one after the other and by a table; an index in which they differ is not understood
//! here. The checksum is not verified, as Git does not.

use super::stamp::open_regular;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The largest index that is read: more than ten million files.
const MOST_BYTES: u64 = 2 << 30;
/// Git itself refuses longer names on most systems.
const LONGEST_NAME: usize = 1 << 16;
/// More submodules than people have.
const MOST_LINKS: usize = 10_000;

/// The length of the names of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectFormat {
    /// 20 bytes.
    #[default]
    Sha1,
    /// 32 bytes.
    Sha256,
}

/// The submodules in an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gitlinks {
    /// Their paths in the working tree, as bytes.
    pub paths: Vec<Vec<u8>>,
    /// Why there may be more; `None` if these are all.
    pub gap: Option<String>,
}

/// Reads the submodules out of an index. A missing index has none.
#[must_use]
pub fn gitlinks(index: &Path, format: ObjectFormat) -> Gitlinks {
    let mut found = Gitlinks::default();
    let base = read_file(index, format, &mut found);
    // A split index holds only what differs from a shared one beside it.
    let shared = base.and_then(|base| Some(index.parent()?.join(shared_name(&base))));
    if let Some(shared) = shared {
        if read_file(&shared, format, &mut found).is_some() {
            found.miss("a shared index refers to another one");
        }
        if !shared.exists() {
            found.miss("its shared index is missing");
        }
    }
    found
}

fn shared_name(base: &[u8]) -> PathBuf {
    let digits: String = base.iter().map(|byte| format!("{byte:02x}")).collect();
    PathBuf::from(format!("sharedindex.{digits}"))
}

/// Reads one file, and returns the name of the shared index that it refers to.
fn read_file(index: &Path, format: ObjectFormat, found: &mut Gitlinks) -> Option<Vec<u8>> {
    let file = match open_regular(index) {
        Ok(Some(file)) => file,
        Ok(None) => return None,
        Err(cause) => {
            found.miss(&format!("it cannot be read: {cause}"));
            return None;
        }
    };
    match read(file, format, found) {
        Ok(base) => base,
        Err(cause) => {
            found.miss(&format!("it is not an index that is understood: {cause}"));
            None
        }
    }
}

impl Gitlinks {
    fn miss(&mut self, why: &str) {
        self.gap.get_or_insert_with(|| why.to_owned());
    }
}

fn read(file: File, format: ObjectFormat, found: &mut Gitlinks) -> io::Result<Option<Vec<u8>>> {
    let bad = |why: &str| io::Error::other(why.to_owned());
    let size = file.metadata()?.len();
    if size > MOST_BYTES {
        return Err(bad("it is too large"));
    }
    let object = match format {
        ObjectFormat::Sha1 => 20,
        ObjectFormat::Sha256 => 32,
    };
    let mut reader = Counter {
        inner: BufReader::with_capacity(256 << 10, file.take(size)),
        read: 0,
    };
    if size < 12 {
        return Ok(None);
    }
    let header: [u8; 12] = reader.array()?;
    // Every Git refuses to work with a file that is no index.
    if !header.starts_with(b"DIRC") {
        return Ok(None);
    }
    let version = number(&header[4..8]);
    if !(2..=4).contains(&version) {
        return Err(bad("its version is unknown"));
    }
    let mut name: Vec<u8> = Vec::new();
    let mut starts = Vec::new();
    for _ in 0..number(&header[8..12]) {
        let start = reader.read;
        let facts: [u8; 40] = reader.array()?;
        reader.skip(object)?;
        let flags: [u8; 2] = reader.array()?;
        if flags[0] & 0x40 != 0 {
            if version < 3 {
                return Err(bad("an entry has flags of a later version"));
            }
            reader.skip(2)?;
        }
        if version == 4 {
            let cut = reader.varint()?;
            let kept = name.len().checked_sub(cut);
            name.truncate(kept.ok_or_else(|| bad("a name is shorter than it says"))?);
        } else {
            name.clear();
        }
        starts.push(EntryStart {
            at: start,
            is_whole: name.is_empty(),
        });
        reader.until_null(&mut name)?;
        if usize::from(flags[0] & 0x0f) << 8 | usize::from(flags[1]) != name.len().min(0xfff) {
            return Err(bad("a name has another length than it says"));
        }
        if version < 4 {
            // One to eight null bytes end an entry at a multiple of eight.
            let length = reader.read - start;
            reader.skip((8 - length % 8) % 8)?;
        }
        match number(&facts[24..28]) & 0o170_000 {
            0o160_000 if name.is_empty() => found.miss("an entry replaces one of a shared index"),
            0o160_000 if found.paths.len() == MOST_LINKS => {
                found.miss("it has too many submodules");
            }
            0o160_000 => found.paths.push(name.clone()),
            0o040_000 => found.miss("it is sparse"),
            _ => {}
        }
    }
    let end = reader.read;
    let mut base = None;
    while size - reader.read.min(size) > object as u64 {
        let head: [u8; 8] = reader.array()?;
        let length = number(&head[4..8]) as usize;
        let mut content = Vec::new();
        if matches!(&head[..4], b"link" | b"IEOT" | b"EOIE") {
            let kept = length.min(MOST_TABLE_BYTES);
            content.resize(kept, 0);
            reader.exact(&mut content)?;
            reader.skip(length - kept)?;
        } else {
            reader.skip(length)?;
        }
        match &head[..4] {
            b"link" => {
                let name = content.get(..object).ok_or_else(|| bad("it is cut off"))?;
                // Nothing but null bytes: it was split, and is whole now.
                let is_split = name.iter().any(|byte| *byte != 0);
                base = is_split.then(|| name.to_vec());
            }
            b"IEOT" if !is_table_of(&content, &starts) => {
                return Err(bad("its table of entries differs from its entries"));
            }
            b"EOIE" if content.len() < 4 || u64::from(number(&content[..4])) != end => {
                return Err(bad("its entries end elsewhere than it says"));
            }
            // In upper case are those that may be left out.
            [first, ..] if first.is_ascii_uppercase() => {}
            b"sdir" => found.miss("it is sparse"),
            _ => return Err(bad("it has an unknown extension")),
        }
    }
    Ok(base)
}

/// Bytes of a table of entries. Git writes one row for each thread.
const MOST_TABLE_BYTES: usize = 1 << 20;

/// Where an entry starts.
struct EntryStart {
    at: u64,
    /// Whether its name does not need the one before.
    is_whole: bool,
}

/// Whether a table (a version, then where each block of entries starts and how many it has) leads to
/// the entries that were read.
fn is_table_of(table: &[u8], starts: &[EntryStart]) -> bool {
    let mut next = 0;
    let rows = table.get(4..).unwrap_or_default().chunks_exact(8);
    let is_exact = rows.remainder().is_empty();
    for row in rows {
        let (at, count) = (u64::from(number(&row[..4])), number(&row[4..]) as usize);
        let is_there = |start: &EntryStart| start.at == at && start.is_whole;
        if count > 0 && !starts.get(next).is_some_and(is_there) {
            return false;
        }
        next += count;
    }
    is_exact && next == starts.len()
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// A reader that counts.
struct Counter<R> {
    inner: R,
    read: u64,
}

impl<R: BufRead> Counter<R> {
    fn exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact(bytes)?;
        self.read += bytes.len() as u64;
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.exact(&mut bytes)?;
        Ok(bytes)
    }

    fn skip(&mut self, count: impl TryInto<u64>) -> io::Result<()> {
        let mut left = count
            .try_into()
            .map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        while left > 0 {
            let ready = self.inner.fill_buf()?.len() as u64;
            if ready == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let now = ready.min(left);
            self.inner.consume(usize::try_from(now).unwrap_or(0));
            self.read += now;
            left -= now;
        }
        Ok(())
    }

    /// Appends what comes before a null byte, and reads past that byte.
    fn until_null(&mut self, name: &mut Vec<u8>) -> io::Result<()> {
        let before = name.len();
        let most = (LONGEST_NAME + 1).saturating_sub(before) as u64;
        self.inner.by_ref().take(most).read_until(0, name)?;
        self.read += (name.len() - before) as u64;
        if name.len() > before && name.last() == Some(&0) {
            name.pop();
            return Ok(());
        }
        Err(io::Error::other("a name does not end"))
    }

    /// A number as Git packs it: seven bits a byte, each further byte adding one.
    fn varint(&mut self) -> io::Result<usize> {
        let mut value: usize = 0;
        for count in 0.. {
            let [byte] = self.array()?;
            if count > 0 {
                value += 1;
            }
            value = value << 7 | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            if count == 4 {
                break;
            }
        }
        Err(io::Error::other("a number is too large"))
    }
}
