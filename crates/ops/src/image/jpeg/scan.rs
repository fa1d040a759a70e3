//! The coefficients of a scan, all at once or a few bits at a time.

use super::header::Frame;
use super::huffman::{Bits, Table};

/// The places of coefficients in a block, in the order of the file.
pub(super) const ZIGZAG: [usize; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// The head of a scan.
#[derive(Debug)]
pub(super) struct Scan {
    /// Which components, with their tables for the first coefficient and for the others.
    pub(super) components: Vec<(usize, usize, usize)>,
    /// The coefficients of the scan.
    pub(super) first: usize,
    pub(super) last: usize,
    /// The bits that earlier scans left, and those that this one leaves.
    pub(super) high: u8,
    pub(super) low: u8,
}

type Tables<'a> = (&'a [Option<Table>; 4], &'a [Option<Table>; 4]);

/// What is carried from block to block.
#[derive(Default)]
struct Carry {
    predictions: [i32; 4],
    /// Blocks that are known to end here.
    ended: u32,
}

/// Decodes a scan into the frame. Returns how many bytes it took, and whether all were there;
/// nothing if a table is missing.
pub(super) fn decode(
    frame: &mut Frame,
    scan: &Scan,
    tables: Tables<'_>,
    restart_interval: usize,
    data: &[u8],
) -> Option<(usize, bool)> {
    let mut bits = Bits::new(data);
    let mut carry = Carry::default();
    let block = BlockDecoder::new(frame.progressive, scan);
    let single = scan.components.len() == 1;
    let (units_wide, units_high) = if single {
        let component = &frame.components[scan.components[0].0];
        (component.real_wide, component.real_high)
    } else {
        (
            frame.width.div_ceil(8 * frame.most_horizontal),
            frame.height.div_ceil(8 * frame.most_vertical),
        )
    };
    let mut until_restart = restart_interval;
    for unit in 0..units_wide * units_high {
        if restart_interval > 0 {
            if until_restart == 0 {
                bits.restart();
                carry = Carry::default();
                until_restart = restart_interval;
            }
            until_restart -= 1;
        }
        if bits.exhausted {
            break;
        }
        let (unit_y, unit_x) = (unit / units_wide, unit % units_wide);
        for (slot, &(index, dc, ac)) in scan.components.iter().enumerate() {
            let component = &mut frame.components[index];
            let (across, down) =
                if single { (1, 1) } else { (component.horizontal, component.vertical) };
            let dc = tables.0.get(dc)?.as_ref();
            let ac = tables.1.get(ac)?.as_ref();
            for row in 0..down {
                for column in 0..across {
                    let at =
                        (unit_y * down + row) * component.blocks_wide + unit_x * across + column;
                    let coefficients = component.coefficients[at * 64..].first_chunk_mut::<64>()?;
                    block.decode(&mut bits, (dc, ac), slot, &mut carry, coefficients)?;
                }
            }
        }
    }
    Some((bits.position(), !bits.exhausted))
}

/// How the blocks of a scan are coded.
#[derive(Clone, Copy, Debug)]
enum Coding {
    Sequential,
    DcFirst,
    DcRefine,
    AcFirst,
    AcRefine,
}

struct BlockDecoder {
    coding: Coding,
    first: usize,
    last: usize,
    low: u32,
}

impl BlockDecoder {
    fn new(progressive: bool, scan: &Scan) -> BlockDecoder {
        let coding = match (progressive, scan.first, scan.high) {
            (false, ..) => Coding::Sequential,
            (true, 0, 0) => Coding::DcFirst,
            (true, 0, _) => Coding::DcRefine,
            (true, _, 0) => Coding::AcFirst,
            (true, ..) => Coding::AcRefine,
        };
        BlockDecoder { coding, first: scan.first, last: scan.last, low: scan.low.into() }
    }

    fn decode(
        &self,
        bits: &mut Bits<'_>,
        (dc, ac): (Option<&Table>, Option<&Table>),
        slot: usize,
        carry: &mut Carry,
        block: &mut [i16; 64],
    ) -> Option<()> {
        match self.coding {
            Coding::Sequential => {
                block[0] = next_dc(bits, dc?, &mut carry.predictions[slot]) as i16;
                sequential(bits, ac?, block);
            }
            Coding::DcFirst => {
                let value = next_dc(bits, dc?, &mut carry.predictions[slot]);
                block[0] = value.wrapping_shl(self.low) as i16;
            }
            Coding::DcRefine => block[0] |= (bits.take(1) << self.low) as i16,
            Coding::AcFirst => self.ac_first(bits, ac?, carry, block),
            Coding::AcRefine => self.ac_refine(bits, ac?, carry, block),
        }
        Some(())
    }

    fn ac_first(
        &self,
        bits: &mut Bits<'_>,
        table: &Table,
        carry: &mut Carry,
        block: &mut [i16; 64],
    ) {
        if carry.ended > 0 {
            carry.ended -= 1;
            return;
        }
        let mut k = self.first;
        while k <= self.last {
            let symbol = bits.symbol(table);
            let (run, size) = (symbol >> 4, symbol & 15);
            if size == 0 {
                if run < 15 {
                    carry.ended = (1 << run) - 1 + bits.take(run.into());
                    break;
                }
                k += 16;
                continue;
            }
            k += usize::from(run);
            let value = bits.number(size.into()).wrapping_shl(self.low) as i16;
            if let Some(&place) = ZIGZAG.get(k) {
                block[place] = value;
            }
            k += 1;
        }
    }

    /// Adds a bit to coefficients that are not zero, and puts new ones between them.
    fn ac_refine(
        &self,
        bits: &mut Bits<'_>,
        table: &Table,
        carry: &mut Carry,
        block: &mut [i16; 64],
    ) {
        let bit = 1i16 << self.low;
        let mut k = self.first;
        if carry.ended == 0 {
            while k <= self.last {
                let symbol = bits.symbol(table);
                let (mut run, size) = (symbol >> 4, symbol & 15);
                let mut value = 0;
                if size != 0 {
                    value = if bits.take(1) == 1 { bit } else { -bit };
                } else if run < 15 {
                    carry.ended = (1 << run) + bits.take(run.into());
                    break;
                }
                while k <= self.last {
                    let place = &mut block[ZIGZAG[k]];
                    if *place != 0 {
                        refine(bits, place, bit);
                    } else {
                        if run == 0 {
                            *place = value;
                            k += 1;
                            break;
                        }
                        run -= 1;
                    }
                    k += 1;
                }
                if bits.exhausted {
                    return;
                }
            }
        }
        if carry.ended > 0 {
            while k <= self.last {
                let place = &mut block[ZIGZAG[k]];
                if *place != 0 {
                    refine(bits, place, bit);
                }
                k += 1;
            }
            carry.ended -= 1;
        }
    }
}

fn refine(bits: &mut Bits<'_>, place: &mut i16, bit: i16) {
    if bits.take(1) == 1 && *place & bit == 0 {
        *place = place.wrapping_add(if *place >= 0 { bit } else { -bit });
    }
}

fn next_dc(bits: &mut Bits<'_>, table: &Table, prediction: &mut i32) -> i32 {
    let size = bits.symbol(table).min(16);
    *prediction = prediction.wrapping_add(bits.number(size.into()));
    *prediction
}

fn sequential(bits: &mut Bits<'_>, table: &Table, block: &mut [i16; 64]) {
    let mut k = 1;
    while k < 64 {
        let symbol = bits.symbol(table);
        let (run, size) = (symbol >> 4, symbol & 15);
        if size == 0 {
            if run != 15 {
                return;
            }
            k += 16;
            continue;
        }
        k += usize::from(run);
        let value = bits.number(size.into()) as i16;
        if let Some(&place) = ZIGZAG.get(k) {
            block[place] = value;
        }
        k += 1;
    }
}
