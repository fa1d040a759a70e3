//! Shows how far training is: a bar on a terminal, a line for each epoch elsewhere.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tensorfleet_client::{Code, Error, Result};

use super::{Callback, Moment, Numbers};

/// Shows progress on standard error. On a terminal it is a bar for each epoch, which stays when that
/// is over; elsewhere a line for each epoch.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use tensorfleet_client::optimizer::Sgd;
/// use tensorfleet_client::IntoTensor;
/// use tensorfleet_strategy::{Learner, ShowProgress, Trainer};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let trainer = |shown: ShowProgress| {
///     let trainer = Trainer::local(|graph, _| {
///         let x = graph.placeholder::<f32>([None]);
///         let loss = (&x * graph.variable("w", 1.0f32)).square().mean();
///         Ok(Learner::new(&[&x], &loss, Sgd::new(0.0)))
///     })?;
///     trainer.callback(shown).fit(2, |_| {
///         std::iter::repeat_with(|| Ok(vec![[2.0f32].into_tensor()?])).take(3)
///     })
/// };
/// // With the number of batches it knows how much is left.
/// trainer(ShowProgress::new().batches(3))?;
///
/// /// What a log would get.
/// #[derive(Clone, Default)]
/// struct Log(Arc<Mutex<Vec<u8>>>);
/// # impl std::io::Write for Log {
/// #     fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
/// #         self.0.lock().unwrap().write(text)
/// #     }
/// #     fn flush(&mut self) -> std::io::Result<()> {
/// #         Ok(())
/// #     }
/// # }
/// let log = Log::default();
/// trainer(ShowProgress::lines(log.clone()))?;
/// let text = String::from_utf8(log.0.lock().unwrap().clone()).expect("it is text");
/// assert!(text.starts_with("epoch 1: 3 batches in "), "{text}");
/// assert!(text.lines().all(|line| line.ends_with(", loss 4.0000")), "{text}");
/// # Ok(())
/// # }
/// ```
pub struct ShowProgress {
    batches: Option<u64>,
    shown: Shown,
    done: u64,
    began: Instant,
}

enum Shown {
    Bar(ProgressBar),
    Lines(Box<dyn Write>),
}

impl std::fmt::Debug for ShowProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShowProgress").finish_non_exhaustive()
    }
}

impl Default for ShowProgress {
    fn default() -> ShowProgress {
        ShowProgress::new()
    }
}

impl ShowProgress {
    /// Chooses by where standard error goes. See the example of [`ShowProgress`].
    pub fn new() -> ShowProgress {
        let error = std::io::stderr();
        if error.is_terminal() {
            ShowProgress::with(Shown::Bar(ProgressBar::hidden()))
        } else {
            ShowProgress::lines(error)
        }
    }

    /// Writes lines. See the example of [`ShowProgress`].
    pub fn lines(to: impl Write + 'static) -> ShowProgress {
        ShowProgress::with(Shown::Lines(Box::new(to)))
    }

    fn with(shown: Shown) -> ShowProgress {
        ShowProgress { batches: None, shown, done: 0, began: Instant::now() }
    }

    /// Says how many batches an epoch has. See the example of [`ShowProgress`].
    #[must_use]
    pub fn batches(mut self, batches: u64) -> ShowProgress {
        self.batches = Some(batches);
        self
    }

    fn bar(&self, epoch: u64) -> ProgressBar {
        let target = ProgressDrawTarget::stderr();
        let bar = ProgressBar::with_draw_target(self.batches, target);
        let template = match self.batches {
            Some(_) => "{prefix} {bar:30} {pos}/{len} {eta} left {msg}",
            None => "{prefix} {spinner} {pos} batches in {elapsed} {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(format!("epoch {}", epoch + 1));
        bar
    }
}

/// Numbers in one line, the loss first.
fn told(numbers: &Numbers) -> String {
    let mut text = String::new();
    let is_loss = |name: &str| name == "loss";
    let ordered = numbers.iter().filter(|(name, _)| is_loss(name));
    for (name, value) in ordered.chain(numbers.iter().filter(|(name, _)| !is_loss(name))) {
        // A string takes everything.
        let _ = match value.abs() {
            size if size == 0.0 || (1e-3..1e6).contains(&size) => {
                write!(text, ", {name} {value:.4}")
            }
            _ => write!(text, ", {name} {value:.4e}"),
        };
    }
    text
}

impl Callback for ShowProgress {
    fn on_start(&mut self, _: &mut Moment<'_>) -> Result<()> {
        self.began = Instant::now();
        Ok(())
    }

    fn on_batch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        self.done = moment.batch();
        if matches!(self.shown, Shown::Bar(_)) && moment.batch() == 1 {
            self.shown = Shown::Bar(self.bar(moment.epoch()));
        }
        if let Shown::Bar(bar) = &self.shown {
            bar.set_message(told(moment.numbers()));
            bar.set_position(moment.batch());
        }
        Ok(())
    }

    fn on_epoch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        let numbers = told(moment.numbers());
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_message(numbers);
                bar.abandon();
            }
            Shown::Lines(to) => {
                let (epoch, seconds) = (moment.epoch() + 1, self.began.elapsed().as_secs_f64());
                writeln!(to, "epoch {epoch}: {} batches in {seconds:.1} s{numbers}", self.done)
                    .map_err(|error| {
                        let told = format!("progress cannot be shown: {error}");
                        Error::new(Code::Unavailable, told)
                    })?;
            }
        }
        self.began = Instant::now();
        Ok(())
    }
}
