//! The images: 8 by 8 pixels of handwritten digits, shipped with the binary.

use std::io::Read;

use flate2::read::GzDecoder;
use tensorfleet_tensor::{Result, data_loss};

/// See `ATTRIBUTION.txt` beside the file.
const DIGITS: &[u8] = include_bytes!("../../data/digits.csv.gz");

/// Pixels of an image.
pub(super) const PIXELS: usize = 64;
/// Digits that an image may show.
pub(super) const CLASSES: usize = 10;
/// The value of a black pixel.
const BLACK: u8 = 16;
/// One image in so many is kept from training.
const HELD_OUT: usize = 5;

/// Images, one after the other, with the digits that they show.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Images {
    /// From 0 to 1.
    pub(super) pixels: Vec<f32>,
    pub(super) classes: Vec<i64>,
}

impl Images {
    pub(super) fn len(&self) -> usize {
        self.classes.len()
    }

    /// Some of the images.
    pub(super) fn select(&self, indices: &[usize]) -> Images {
        let mut selected = Images::default();
        for &index in indices {
            selected.pixels.extend(&self.pixels[index * PIXELS..(index + 1) * PIXELS]);
            selected.classes.push(self.classes[index]);
        }
        selected
    }

    /// Reads lines of pixels and a digit, separated by commas.
    fn parse(text: &str) -> Result<Images> {
        let mut images = Images::default();
        for (index, line) in text.lines().enumerate() {
            let numbers = line.split(',').map(str::parse).collect::<Result<Vec<u8>, _>>();
            let [pixels @ .., class] =
                numbers.as_deref().map_err(|_| data_loss!("line {} is no image", index + 1))?
            else {
                return Err(data_loss!("line {} is empty", index + 1));
            };
            let is_image = pixels.len() == PIXELS && pixels.iter().all(|&pixel| pixel <= BLACK);
            if !is_image || usize::from(*class) >= CLASSES {
                return Err(data_loss!("line {} is no image with its digit", index + 1));
            }
            images.pixels.extend(pixels.iter().map(|&pixel| f32::from(pixel) / f32::from(BLACK)));
            images.classes.push(i64::from(*class));
        }
        Ok(images)
    }
}

/// The images to train with, and those to try the result on.
#[derive(Debug)]
pub(super) struct Digits {
    pub(super) train: Images,
    pub(super) held_out: Images,
}

impl Digits {
    /// Unpacks the images. Which are held out is the same each time.
    pub(super) fn load() -> Result<Digits> {
        let mut text = String::new();
        let unpacked = GzDecoder::new(DIGITS).read_to_string(&mut text);
        unpacked.map_err(|error| data_loss!("the images cannot be unpacked: {error}"))?;
        let images = Images::parse(&text)?;
        let order = Shuffle::new(17).order(images.len());
        let (held_out, train) = order.split_at(images.len() / HELD_OUT);
        Ok(Digits { train: images.select(train), held_out: images.select(held_out) })
    }
}

/// Draws batches: all images in random order, then all again in another.
#[derive(Debug)]
pub(super) struct Batches {
    shuffle: Shuffle,
    order: Vec<usize>,
    next: usize,
}

impl Batches {
    pub(super) fn new(images: usize, seed: u64) -> Batches {
        let mut shuffle = Shuffle::new(seed);
        Batches { order: shuffle.order(images), shuffle, next: 0 }
    }

    /// The numbers of the next images.
    pub(super) fn draw(&mut self, size: usize) -> Vec<usize> {
        (0..size).map(|_| self.draw_one()).collect()
    }

    fn draw_one(&mut self) -> usize {
        if self.next == self.order.len() {
            self.order = self.shuffle.order(self.order.len());
            self.next = 0;
        }
        self.next += 1;
        self.order[self.next - 1]
    }
}

/// Random orders that are the same in each run (numbers by Steele's SplitMix64).
#[derive(Debug)]
struct Shuffle {
    state: u64,
}

impl Shuffle {
    fn new(seed: u64) -> Shuffle {
        Shuffle { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for end in (1..count).rev() {
            order.swap(end, (self.next() % (end as u64 + 1)) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_images_are_there_and_some_are_held_out() {
        let digits = Digits::load().unwrap();
        assert_eq!((digits.train.len(), digits.held_out.len()), (1438, 359));
        for images in [&digits.train, &digits.held_out] {
            assert_eq!(images.pixels.len(), images.len() * PIXELS);
            assert!(images.pixels.iter().all(|pixel| (0.0..=1.0).contains(pixel)));
            for digit in 0..CLASSES as i64 {
                assert!(images.classes.contains(&digit));
            }
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let good = format!("{}7", "16,".repeat(PIXELS));
        assert_eq!(Images::parse(&good).unwrap().classes, [7]);
        for bad in ["", "1,2,3", &good.replace('7', "10"), &good.replace("16", "17"), "x"] {
            assert!(Images::parse(&format!("{bad}\n")).is_err(), "{bad}");
        }
    }

    #[test]
    fn every_image_is_drawn_once_before_any_is_drawn_again() {
        let mut batches = Batches::new(10, 3);
        for _ in 0..3 {
            let mut drawn = [batches.draw(4), batches.draw(6)].concat();
            drawn.sort_unstable();
            assert_eq!(drawn, (0..10).collect::<Vec<_>>());
        }
        assert_ne!(batches.draw(10), Batches::new(10, 3).draw(10));
        assert_eq!(Batches::new(10, 4).draw(10), Batches::new(10, 4).draw(10));
    }
}
