//! The segments of a file.

use super::huffman::Table;
use super::scan::{self, Scan};

/// What a file says of an image before its pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::image) struct Shape {
    pub(in crate::image) height: usize,
    pub(in crate::image) width: usize,
    pub(in crate::image) channels: usize,
}

/// Larger images are refused, as by TensorFlow.
const MOST_BYTES: usize = 1 << 29;

/// One colour channel.
#[derive(Debug)]
pub(super) struct Component {
    id: u8,
    /// How many blocks of it there are side by side, and one above the other, in a unit of the file.
    pub(super) horizontal: usize,
    pub(super) vertical: usize,
    quantizer: usize,
    /// The factors of the coefficients, taken when the first scan of the component begins.
    pub(super) factors: Option<[u16; 64]>,
    /// Blocks in a row and in a column, with those that fill the last units.
    pub(super) blocks_wide: usize,
    pub(super) blocks_high: usize,
    /// Blocks that hold pixels of the image.
    pub(super) real_wide: usize,
    pub(super) real_high: usize,
    pub(super) coefficients: Vec<i16>,
}

/// An image taken apart as far as the file goes.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) progressive: bool,
    pub(super) most_horizontal: usize,
    pub(super) most_vertical: usize,
    pub(super) components: Vec<Component>,
    /// The transform that Adobe's segment names.
    pub(super) adobe: Option<u8>,
    pub(super) jfif: bool,
}

impl Frame {
    /// Whether the components are luminance and two differences of colour (and black).
    pub(super) fn is_ycc(&self) -> bool {
        let ids = || self.components.iter().map(|component| component.id);
        match (self.components.len(), self.jfif, self.adobe) {
            (3, true, _) => true,
            (3, false, Some(transform)) => transform != 0,
            (3, false, None) => !ids().eq(*b"RGB"),
            (4, _, transform) => transform == Some(2),
            _ => false,
        }
    }
}

/// Reads bytes and numbers.
struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.data.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn word(&mut self) -> Option<usize> {
        Some(usize::from(self.byte()?) << 8 | usize::from(self.byte()?))
    }

    /// The next marker, whatever stands before it.
    fn marker(&mut self) -> Option<u8> {
        loop {
            while self.byte()? != 0xff {}
            let mut byte = self.byte()?;
            while byte == 0xff {
                byte = self.byte()?;
            }
            if byte != 0 {
                return Some(byte);
            }
        }
    }

    /// The contents of a segment.
    fn segment(&mut self) -> Option<Reader<'a>> {
        let len = self.word()?.checked_sub(2)?;
        let data = self.data.get(self.at..self.at + len)?;
        self.at += len;
        Some(Reader { data, at: 0 })
    }

    fn rest(&self) -> &'a [u8] {
        &self.data[self.at..]
    }
}

/// Reads only as far as the dimensions.
pub(in crate::image) fn shape(data: &[u8]) -> Option<Shape> {
    let mut reader = begin(data)?;
    loop {
        let marker = reader.marker()?;
        if is_standalone(marker) {
            continue;
        }
        let mut segment = reader.segment()?;
        if is_frame(marker) {
            segment.byte()?;
            let (height, width) = (segment.word()?, segment.word()?);
            let channels = usize::from(segment.byte()?);
            return Some(Shape { height, width, channels });
        }
        if marker == 0xda {
            return None;
        }
    }
}

fn begin(data: &[u8]) -> Option<Reader<'_>> {
    data.starts_with(&[0xff, 0xd8]).then_some(Reader { data, at: 2 })
}

fn is_standalone(marker: u8) -> bool {
    matches!(marker, 0x01 | 0xd0..=0xd8)
}

/// Whether a marker begins a frame of any kind.
fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc)
}

/// Everything that segments define for the scans that follow.
#[derive(Default)]
struct State {
    quantizers: [Option<[u16; 64]>; 4],
    dc_tables: [Option<Table>; 4],
    ac_tables: [Option<Table>; 4],
    restart_interval: usize,
    adobe: Option<u8>,
    jfif: bool,
    frame: Option<Frame>,
}

/// Reads a whole file; nothing if it is broken, or truncated where that matters.
pub(super) fn read(data: &[u8], recover: bool) -> Option<Frame> {
    let mut reader = begin(data)?;
    let mut state = State::default();
    let mut scans = 0;
    loop {
        let Some(marker) = reader.marker() else {
            return if recover && scans > 0 { state.finish() } else { None };
        };
        match marker {
            0xd9 => return if scans > 0 { state.finish() } else { None },
            _ if is_standalone(marker) => {}
            0xda => {
                let scan = state.scan(reader.segment()?)?;
                scans += 1;
                let (used, complete) = state.decode(&scan, reader.rest())?;
                if !complete && !recover {
                    return None;
                }
                reader.at += used;
            }
            _ => {
                let segment = reader.segment()?;
                state.read(marker, segment, data.len())?;
            }
        }
    }
}

impl State {
    fn finish(self) -> Option<Frame> {
        let (adobe, jfif) = (self.adobe, self.jfif);
        self.frame.map(|frame| Frame { adobe, jfif, ..frame })
    }

    fn read(&mut self, marker: u8, mut segment: Reader<'_>, file_len: usize) -> Option<()> {
        match marker {
            0xc0..=0xc2 => self.frame = Some(read_frame(marker, segment, file_len)?),
            0xc4 => {
                while segment.at < segment.data.len() {
                    let class = segment.byte()?;
                    let table = Table::read(&mut || segment.byte())?;
                    let tables =
                        if class >> 4 == 0 { &mut self.dc_tables } else { &mut self.ac_tables };
                    *tables.get_mut(usize::from(class & 15))? = Some(table);
                }
            }
            0xdb => {
                while segment.at < segment.data.len() {
                    let head = segment.byte()?;
                    let mut factors = [0; 64];
                    for &place in &scan::ZIGZAG {
                        factors[place] = match head >> 4 {
                            0 => segment.byte()?.into(),
                            _ => segment.word()? as u16,
                        };
                    }
                    *self.quantizers.get_mut(usize::from(head & 15))? = Some(factors);
                }
            }
            0xdd => self.restart_interval = segment.word()?,
            0xe0 => self.jfif |= segment.data.starts_with(b"JFIF\0"),
            0xee if segment.data.starts_with(b"Adobe") => {
                self.adobe = segment.data.get(11).copied();
            }
            // Lossless and hierarchical files, and arithmetic codes.
            _ if is_frame(marker) => return None,
            _ => {}
        }
        Some(())
    }

    /// Reads the head of a scan.
    fn scan(&mut self, mut segment: Reader<'_>) -> Option<Scan> {
        let frame = self.frame.as_mut()?;
        let count = usize::from(segment.byte()?);
        let mut components: Vec<(usize, usize, usize)> = Vec::with_capacity(count);
        for _ in 0..count {
            let (id, tables) = (segment.byte()?, segment.byte()?);
            let index = frame.components.iter().position(|component| component.id == id)?;
            if components.iter().any(|&(other, ..)| other == index) {
                return None;
            }
            let component = &mut frame.components[index];
            if component.factors.is_none() {
                component.factors = self.quantizers.get(component.quantizer).copied().flatten();
            }
            components.push((index, usize::from(tables >> 4), usize::from(tables & 15)));
        }
        let (first, last) = (segment.byte()?, segment.byte()?);
        let approximation = segment.byte()?;
        let scan = Scan {
            components,
            first: usize::from(first),
            last: usize::from(last),
            high: approximation >> 4,
            low: approximation & 15,
        };
        let valid = !scan.components.is_empty()
            && scan.components.len() <= 4
            && scan.last < 64
            && scan.first <= scan.last
            && scan.low < 14
            && (!frame.progressive || scan.first > 0 || scan.last == 0)
            && (scan.first == 0 || scan.components.len() == 1);
        valid.then_some(scan)
    }

    fn decode(&mut self, scan: &Scan, data: &[u8]) -> Option<(usize, bool)> {
        let frame = self.frame.as_mut()?;
        scan::decode(frame, scan, (&self.dc_tables, &self.ac_tables), self.restart_interval, data)
    }
}

fn read_frame(marker: u8, mut segment: Reader<'_>, file_len: usize) -> Option<Frame> {
    let precision = segment.byte()?;
    let (height, width) = (segment.word()?, segment.word()?);
    let count = usize::from(segment.byte()?);
    if precision != 8 || height == 0 || width == 0 || !matches!(count, 1 | 3 | 4) {
        return None;
    }
    if height * width * count >= MOST_BYTES {
        return None;
    }
    let mut heads = Vec::with_capacity(count);
    for _ in 0..count {
        let (id, sampling, quantizer) = (segment.byte()?, segment.byte()?, segment.byte()?);
        let (horizontal, vertical) = (usize::from(sampling >> 4), usize::from(sampling & 15));
        if !(1..=4).contains(&horizontal) || !(1..=4).contains(&vertical) {
            return None;
        }
        heads.push((id, horizontal, vertical, usize::from(quantizer)));
    }
    let most_horizontal = heads.iter().map(|head| head.1).max()?;
    let most_vertical = heads.iter().map(|head| head.2).max()?;
    let units_wide = width.div_ceil(8 * most_horizontal);
    let units_high = height.div_ceil(8 * most_vertical);
    let mut components = Vec::with_capacity(count);
    for (id, horizontal, vertical, quantizer) in heads {
        let (blocks_wide, blocks_high) = (units_wide * horizontal, units_high * vertical);
        // Every block takes a bit at least: a short file must not claim a huge image.
        if blocks_wide * blocks_high / 8 > file_len {
            return None;
        }
        components.push(Component {
            id,
            horizontal,
            vertical,
            quantizer,
            factors: None,
            blocks_wide,
            blocks_high,
            real_wide: (width * horizontal).div_ceil(8 * most_horizontal),
            real_high: (height * vertical).div_ceil(8 * most_vertical),
            coefficients: vec![0; blocks_wide * blocks_high * 64],
        });
    }
    Some(Frame {
        height,
        width,
        progressive: marker == 0xc2,
        most_horizontal,
        most_vertical,
        components,
        adobe: None,
        jfif: false,
    })
}
