//! Reading a table.

use tensorfleet_tensor::{Result, data_loss};

use super::block::visit;
use super::{FOOTER_LEN, Handle, MAGIC, SNAPPY, TRAILER_LEN, UNCOMPRESSED};
use crate::coding::{take_u32, unmask};
use tensorfleet_files::ReadFile;

/// No run of Snappy's instructions unpacks to more than this many times its own size.
const SNAPPY_RATIO: usize = 24;

/// An open table.
#[derive(Debug)]
pub(crate) struct Table {
    file: Box<dyn ReadFile>,
    /// For each data block a key that is at least its last.
    index: Vec<(Vec<u8>, Handle)>,
}

impl Table {
    pub(crate) fn open(file: Box<dyn ReadFile>) -> Result<Self> {
        let Some(footer_at) = file.len().checked_sub(FOOTER_LEN as u64) else {
            return Err(data_loss!("file is too short to be an sstable"));
        };
        let mut footer = [0; FOOTER_LEN];
        file.read_at(footer_at, &mut footer)?;
        if footer[FOOTER_LEN - 8..] != MAGIC.to_le_bytes() {
            return Err(data_loss!("not an sstable (bad magic number)"));
        }
        let mut handles = &footer[..FOOTER_LEN - 8];
        let (Some(_meta), Some(index)) = (Handle::take(&mut handles), Handle::take(&mut handles))
        else {
            return Err(data_loss!("bad block handle"));
        };
        let mut table = Self { file, index: Vec::new() };
        let block = table.read_block(index)?;
        let mut entries = Vec::new();
        visit(&block, |key, mut value| {
            let handle = Handle::take(&mut value).ok_or_else(|| data_loss!("bad block handle"))?;
            entries.push((key.to_vec(), handle));
            Ok(true)
        })?;
        table.index = entries;
        Ok(table)
    }

    /// Calls `each` with every record, in the order of the keys.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        for (_, handle) in &self.index {
            let block = self.read_block(*handle)?;
            visit(&block, |key, value| each(key, value).map(|()| true))?;
        }
        Ok(())
    }

    /// The value of `key`, if there is one.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let block = self.index.partition_point(|(last, _)| last.as_slice() < key);
        let Some((_, handle)) = self.index.get(block) else { return Ok(None) };
        let mut found = None;
        visit(&self.read_block(*handle)?, |candidate, value| {
            if candidate == key {
                found = Some(value.to_vec());
            }
            Ok(candidate < key)
        })?;
        Ok(found)
    }

    fn read_block(&self, handle: Handle) -> Result<Vec<u8>> {
        let stored = handle.len.checked_add(TRAILER_LEN as u64);
        let end = stored.and_then(|stored| handle.offset.checked_add(stored));
        // Checked against the file before anything of that size is allocated.
        let (Some(stored), Some(_)) = (stored, end.filter(|end| *end <= self.file.len())) else {
            return Err(data_loss!("truncated block read"));
        };
        let len = usize::try_from(stored).map_err(|_| data_loss!("block too large"))?;
        let mut bytes = vec![0; len];
        self.file.read_at(handle.offset, &mut bytes)?;
        let (checked, mut crc) = bytes.split_at(len - 4);
        if take_u32(&mut crc).map(unmask) != Some(crc32c::crc32c(checked)) {
            return Err(data_loss!("block checksum mismatch"));
        }
        let compression = bytes[len - TRAILER_LEN];
        bytes.truncate(len - TRAILER_LEN);
        match compression {
            UNCOMPRESSED => Ok(bytes),
            SNAPPY => unpack(&bytes),
            other => Err(data_loss!("bad block type {other}")),
        }
    }
}

fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let corrupt = |_| data_loss!("corrupted snappy compressed block contents");
    let len = snap::raw::decompress_len(packed).map_err(corrupt)?;
    if len > packed.len().saturating_mul(SNAPPY_RATIO) {
        return Err(data_loss!("corrupted snappy compressed block length"));
    }
    snap::raw::Decoder::new().decompress_vec(packed).map_err(corrupt)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tensorfleet_tensor::Code;

    use super::*;
    use crate::memory_files::MemoryFileSystem;
    use crate::table::TableBuilder;
    use tensorfleet_files::FileSystem;

    fn write(records: &[(Vec<u8>, Vec<u8>)]) -> MemoryFileSystem {
        let files = MemoryFileSystem::default();
        let mut builder = TableBuilder::new(files.create("t").unwrap());
        for (key, value) in records {
            builder.add(key, value).unwrap();
        }
        builder.finish().unwrap();
        files
    }

    fn open(files: &MemoryFileSystem) -> Result<Table> {
        Table::open(files.open("t")?)
    }

    fn all(table: &Table) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut records = Vec::new();
        table.for_each(|key, value| {
            records.push((key.to_vec(), value.to_vec()));
            Ok(())
        })?;
        Ok(records)
    }

    fn numbered(count: usize, value_len: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        (0..count).map(|i| (format!("key{i:06}").into_bytes(), vec![i as u8; value_len])).collect()
    }

    #[test]
    fn records_come_back() {
        for records in [vec![], numbered(1, 0), numbered(40, 3), numbered(3000, 500)] {
            let table = open(&write(&records)).unwrap();
            assert_eq!(all(&table).unwrap(), records);
            for (key, value) in records.iter().step_by(97) {
                assert_eq!(table.get(key).unwrap().as_ref(), Some(value));
            }
            assert_eq!(table.get(b"key").unwrap(), None);
            assert_eq!(table.get(b"key000000x").unwrap(), None);
            assert_eq!(table.get(b"z").unwrap(), None);
        }
    }

    #[test]
    fn keys_out_of_order_are_refused() {
        let mut builder = TableBuilder::new(MemoryFileSystem::default().create("t").unwrap());
        builder.add(b"b", b"").unwrap();
        assert!(builder.add(b"b", b"").is_err());
    }

    #[test]
    fn compressed_blocks_are_read() {
        let files = write(&numbered(100, 50));
        let plain = open(&files).unwrap();
        let block = plain.read_block(plain.index[0].1).unwrap();
        let packed = snap::raw::Encoder::new().compress_vec(&block).unwrap();
        assert!(packed.len() < block.len());
        assert_eq!(unpack(&packed).unwrap(), block);
        assert!(unpack(&packed[..packed.len() / 2]).is_err());
        assert!(unpack(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0]).is_err());
    }

    #[test]
    fn every_damaged_bit_is_noticed() {
        let files = write(&numbered(20, 4));
        let whole = files.read("t");
        for position in 0..whole.len() - FOOTER_LEN {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x10;
            files.write("t", &damaged);
            let result = open(&files).and_then(|table| all(&table));
            // Only the empty meta block, which nobody reads, may be damaged unseen.
            if let Err(error) = result {
                assert_eq!(error.code(), Code::DataLoss);
            }
        }
        for len in 0..whole.len() {
            files.write("t", &whole[..len]);
            assert_eq!(open(&files).unwrap_err().code(), Code::DataLoss);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_blocks_do_not_panic(block: Vec<u8>) {
            visit(&block, |_, _| Ok(true)).ok();
            unpack(&block).ok();
        }

        #[test]
        fn arbitrary_footers_do_not_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 40..200),
        ) {
            bytes.extend_from_slice(&MAGIC.to_le_bytes());
            let files = MemoryFileSystem::default();
            files.write("t", &bytes);
            open(&files).and_then(|table| all(&table)).ok();
        }

        #[test]
        fn arbitrary_records_round_trip(
            records in proptest::collection::btree_map(any::<Vec<u8>>(), any::<Vec<u8>>(), 0..60),
        ) {
            let records: Vec<_> = records.into_iter().collect();
            prop_assert_eq!(all(&open(&write(&records)).unwrap()).unwrap(), records);
        }
    }
}
