//! Many texts at once, on all threads, without a piece of memory for each.
//!
//! Short texts are written one behind the other to pages that they share. A text that outlives its
//! neighbours keeps their page, so pages are small.

use bytes::Bytes;
use tensorfleet_framework::KernelContext;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Result, Tensor};

/// Bytes after which a page is full; the text that fills it may be longer.
const PAGE: usize = 4096;
/// Texts below which another thread is not worth waking.
pub(super) const MIN_TEXTS: usize = 512;

/// What became of a text.
pub(super) enum Made {
    /// It is what was added to the page.
    Written,
    /// It is a part of another, or had better have memory of its own.
    Given(Bytes),
}

/// Makes `count` texts, each from its number.
pub(super) fn make_texts(
    par: Parallel,
    count: usize,
    make: impl Fn(usize, &mut Vec<u8>) -> Made + Sync,
) -> Vec<Bytes> {
    let mut texts = vec![Bytes::new(); count];
    par.for_each(&mut texts[..], MIN_TEXTS, |numbers, texts| {
        let mut page = Page::default();
        for (at, number) in numbers.enumerate() {
            let start = page.bytes.len();
            match make(number, &mut page.bytes) {
                Made::Written => page.written.push((at, start)),
                Made::Given(text) => {
                    page.bytes.truncate(start);
                    texts[at] = text;
                }
            }
            if page.bytes.len() >= PAGE {
                page.hand_out(texts);
            }
        }
        page.hand_out(texts);
    });
    texts
}

/// Texts that are not handed out yet: their numbers and where they begin.
#[derive(Default)]
struct Page {
    bytes: Vec<u8>,
    written: Vec<(usize, usize)>,
}

impl Page {
    fn hand_out(&mut self, texts: &mut [Bytes]) {
        if self.bytes.is_empty() {
            // Texts without a letter need no page.
            self.written.clear();
            return;
        }
        let page = Bytes::from(std::mem::replace(&mut self.bytes, Vec::with_capacity(PAGE)));
        let mut end = page.len();
        for (at, start) in self.written.drain(..).rev() {
            texts[at] = page.slice(start..end);
            end = start;
        }
    }
}

/// Turns every string of the first input into another.
pub(super) fn map_texts(
    ctx: &mut KernelContext<'_>,
    change: impl Fn(&Bytes, &mut Vec<u8>) -> Made + Sync,
) -> Result<()> {
    let par = Parallel::new(ctx.parallelism());
    let input = ctx.input(0)?;
    let texts = input.strings()?;
    let changed = make_texts(par, texts.len(), |number, page| change(&texts[number], page));
    let output = Tensor::from_strings(input.shape().clone(), changed)?;
    ctx.set_output(0, output);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_keep_their_order_and_have_no_more_than_their_own_letters() {
        let given = Bytes::from_static(b"given");
        let texts = make_texts(Parallel::new(2), 3000, |number, page| {
            page.extend_from_slice(format!("{number}").as_bytes());
            match number % 3 {
                0 => Made::Given(given.clone()),
                1 => Made::Written,
                _ => {
                    page.truncate(page.len() - format!("{number}").len());
                    Made::Written
                }
            }
        });
        for (number, text) in texts.iter().enumerate() {
            let want = match number % 3 {
                0 => "given".to_owned(),
                1 => number.to_string(),
                _ => String::new(),
            };
            assert_eq!(text, &want);
        }
    }
}
