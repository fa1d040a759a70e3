//! Huffman codes and the bits that they are made of.

/// Codes up to this length are looked up at once.
const FAST_BITS: u32 = 9;

/// A code.
#[derive(Debug)]
pub(super) struct Table {
    /// Symbol and length of the code that begins with the index, if it is short.
    fast: Vec<(u8, u8)>,
    /// For each length, one more than the last code, aligned to 16 bits.
    limits: [u32; 17],
    /// For each length, what to add to a code to get the index of its symbol.
    offsets: [i32; 17],
    symbols: Vec<u8>,
}

impl Table {
    /// Reads the numbers of codes of each length, and their symbols.
    pub(super) fn read(byte: &mut impl FnMut() -> Option<u8>) -> Option<Table> {
        let mut counts = [0u8; 16];
        for count in &mut counts {
            *count = byte()?;
        }
        let total: usize = counts.iter().map(|&count| usize::from(count)).sum();
        if total > 256 {
            return None;
        }
        let symbols = (0..total).map(|_| byte()).collect::<Option<Vec<u8>>>()?;
        let mut table = Table {
            fast: vec![(0, 0); 1 << FAST_BITS],
            limits: [0; 17],
            offsets: [0; 17],
            symbols,
        };
        let (mut code, mut index) = (0u32, 0usize);
        for (length, &count) in (1u32..).zip(&counts) {
            let slot = length as usize;
            table.offsets[slot] = index as i32 - code as i32;
            for _ in 0..count {
                if code >> length != 0 {
                    return None;
                }
                if length <= FAST_BITS {
                    let first = (code << (FAST_BITS - length)) as usize;
                    let entry = (table.symbols[index], length as u8);
                    table.fast[first..first + (1 << (FAST_BITS - length))].fill(entry);
                }
                code += 1;
                index += 1;
            }
            table.limits[slot] = code << (16 - length);
            code <<= 1;
        }
        Some(table)
    }
}

/// The bits of a scan. After the data, or at a marker, come zeros.
#[derive(Debug)]
pub(super) struct Bits<'a> {
    data: &'a [u8],
    at: usize,
    buffer: u64,
    count: u32,
    /// Whether more bits were used than there are.
    pub(super) exhausted: bool,
    invented: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(data: &'a [u8]) -> Bits<'a> {
        Bits { data, at: 0, buffer: 0, count: 0, exhausted: false, invented: 0 }
    }

    fn fill(&mut self) {
        while self.count <= 48 {
            let byte = match self.data.get(self.at) {
                Some(0xff) => match self.data.get(self.at + 1) {
                    Some(0) => {
                        self.at += 2;
                        0xff
                    }
                    _ => {
                        self.invented += 8;
                        0
                    }
                },
                Some(&byte) => {
                    self.at += 1;
                    byte
                }
                None => {
                    self.invented += 8;
                    0
                }
            };
            self.buffer = self.buffer << 8 | u64::from(byte);
            self.count += 8;
        }
    }

    fn peek(&mut self, bits: u32) -> u32 {
        if self.count < bits {
            self.fill();
        }
        (self.buffer >> (self.count - bits)) as u32 & ((1 << bits) - 1)
    }

    fn consume(&mut self, bits: u32) {
        self.count -= bits;
        if self.count < self.invented {
            self.exhausted = true;
            self.invented = self.count;
        }
    }

    /// The next `bits` bits, at most 16.
    pub(super) fn take(&mut self, bits: u32) -> u32 {
        if bits == 0 {
            return 0;
        }
        let value = self.peek(bits);
        self.consume(bits);
        value
    }

    /// The next symbol; 0 for a code that does not exist, as libjpeg has it.
    pub(super) fn symbol(&mut self, table: &Table) -> u8 {
        let ahead = self.peek(16);
        let (symbol, length) = table.fast[(ahead >> (16 - FAST_BITS)) as usize];
        if length > 0 {
            self.consume(length.into());
            return symbol;
        }
        for length in FAST_BITS + 1..=16 {
            if ahead < table.limits[length as usize] {
                self.consume(length);
                let index = (ahead >> (16 - length)) as i32 + table.offsets[length as usize];
                return usize::try_from(index)
                    .ok()
                    .and_then(|index| table.symbols.get(index).copied())
                    .unwrap_or(0);
            }
        }
        self.consume(16);
        0
    }

    /// A signed number of so many bits.
    pub(super) fn number(&mut self, bits: u32) -> i32 {
        if bits == 0 {
            return 0;
        }
        let value = self.take(bits) as i32;
        if value < 1 << (bits - 1) { value - (1 << bits) + 1 } else { value }
    }

    /// Goes on behind the next restart marker, if it is next; otherwise stays.
    pub(super) fn restart(&mut self) {
        (self.buffer, self.count, self.invented) = (0, 0, 0);
        let rest = &self.data[self.at..];
        if let [0xff, 0xd0..=0xd7, ..] = rest {
            self.at += 2;
        }
    }

    /// How many bytes were read.
    pub(super) fn position(&self) -> usize {
        self.at
    }
}
