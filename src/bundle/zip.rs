//! Writer of zip files: deflated entries with Unix modes, and the same bytes for the same content.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

const LOCAL_HEADER: u32 = 0x0403_4b50;
const CENTRAL_HEADER: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Version of the format that a reader needs: deflate.
const VERSION: u16 = 20;
/// Written by a Unix system.
const MADE_BY: u16 = (3 << 8) | VERSION;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
const DEFLATE: u16 = 8;
/// 1980-01-01, the earliest date: the time of the build is not part of a bundle.
const DATE: u16 = (1 << 5) | 1;
/// Position of the checksum and the sizes in a local header.
const SIZES_AT: u64 = 14;

/// A zip file that is being written.
pub(super) struct Writer {
    file: BufWriter<File>,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    mode: u32,
    crc: u32,
    packed: u32,
    size: u32,
    at: u32,
}

impl Writer {
    pub(super) fn new(file: File) -> Writer {
        Writer {
            file: BufWriter::with_capacity(1 << 16, file),
            entries: Vec::new(),
        }
    }

    /// Adds a file with this content.
    pub(super) fn add(
        &mut self,
        name: &str,
        is_executable: bool,
        mut content: impl Read,
    ) -> io::Result<()> {
        let at = self.file.stream_position()?;
        let mut entry = Entry {
            name: name.to_owned(),
            mode: if is_executable { 0o100_755 } else { 0o100_644 },
            crc: 0,
            packed: 0,
            size: 0,
            at: narrow(at)?,
        };
        self.file.write_all(&LOCAL_HEADER.to_le_bytes())?;
        self.file.write_all(&entry.common())?;
        self.file.write_all(&0u16.to_le_bytes())?;
        self.file.write_all(name.as_bytes())?;
        let start = self.file.stream_position()?;
        let mut packer = DeflateEncoder::new(&mut self.file, Compression::default());
        let (mut crc, mut chunk) = (Crc::new(), vec![0; 1 << 16]);
        let mut size = 0u64;
        loop {
            let read = match content.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            crc.update(&chunk[..read]);
            packer.write_all(&chunk[..read])?;
            size += read as u64;
        }
        packer.finish()?;
        let end = self.file.stream_position()?;
        entry.crc = crc.sum();
        entry.packed = narrow(end - start)?;
        entry.size = narrow(size)?;
        self.file.seek(SeekFrom::Start(at + SIZES_AT))?;
        for number in [entry.crc, entry.packed, entry.size] {
            self.file.write_all(&number.to_le_bytes())?;
        }
        self.file.seek(SeekFrom::Start(end))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Writes the directory of the entries.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let start = self.file.stream_position()?;
        for entry in &self.entries {
            self.file.write_all(&CENTRAL_HEADER.to_le_bytes())?;
            self.file.write_all(&MADE_BY.to_le_bytes())?;
            self.file.write_all(&entry.common())?;
            // Extra field, comment, disk, internal attributes.
            self.file.write_all(&[0; 8])?;
            self.file.write_all(&(entry.mode << 16).to_le_bytes())?;
            self.file.write_all(&entry.at.to_le_bytes())?;
            self.file.write_all(entry.name.as_bytes())?;
        }
        let end = self.file.stream_position()?;
        let count = u16::try_from(self.entries.len())
            .map_err(|_| io::Error::other("a bundle may have 65,535 files"))?;
        self.file.write_all(&END.to_le_bytes())?;
        self.file.write_all(&[0; 4])?;
        for _ in 0..2 {
            self.file.write_all(&count.to_le_bytes())?;
        }
        self.file.write_all(&narrow(end - start)?.to_le_bytes())?;
        self.file.write_all(&narrow(start)?.to_le_bytes())?;
        self.file.write_all(&[0; 2])?;
        self.file.flush()
    }
}

impl Entry {
    /// Returns the fields that both headers have, up to the length of the name.
    fn common(&self) -> Vec<u8> {
        let length = u16::try_from(self.name.len()).unwrap_or(u16::MAX);
        let mut bytes = Vec::with_capacity(24);
        for number in [VERSION, UTF8, DEFLATE, 0, DATE] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.crc, self.packed, self.size] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(length.to_le_bytes());
        bytes
    }
}

/// Converts a size or a position. Larger files would need another form of zip.
fn narrow(number: u64) -> io::Result<u32> {
    u32::try_from(number).map_err(|_| io::Error::other("a bundle may have 4 GB"))
}
