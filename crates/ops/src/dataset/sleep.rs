//! `SleepDataset`: elements that take their time, as those of a slow source do.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use futures_channel::oneshot;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{Result, internal};

use super::dataset::{
    Cardinality, Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Pending, Signature,
    dataset,
};
use super::scope::Scope;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ExperimentalSleepDataset",
        inputs: &["input_dataset: variant", "sleep_microseconds: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<Sleep>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SleepDataset",
        inputs: &["input_dataset: variant", "sleep_microseconds: int64"],
        outputs: &["handle: variant"],
        attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
        kernels: &[dataset::<Sleep>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Sleep;

impl MakeDataset for Sleep {
    fn new(_: &Attrs<'_>) -> Result<Sleep> {
        Ok(Sleep)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let micros = inputs.scalar::<i64>(1, "sleep_microseconds")?;
        let pause = Duration::from_micros(u64::try_from(micros).unwrap_or(0));
        Ok(Arc::new(SleepDataset { input: inputs.dataset(0)?, pause, signature }))
    }
}

#[derive(Debug)]
struct SleepDataset {
    input: DatasetRef,
    pause: Duration,
    signature: Signature,
}

impl Dataset for SleepDataset {
    fn kind(&self) -> &str {
        "Sleep"
    }

    fn inputs(&self) -> Vec<&DatasetRef> {
        vec![&self.input]
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn cardinality(&self) -> Cardinality {
        self.input.cardinality()
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let input = scope.iterate(&*self.input)?;
        Ok(Box::new(Sleepy { input, pause: self.pause, alarm: None }))
    }
}

struct Sleepy {
    input: Box<dyn Elements>,
    pause: Duration,
    alarm: Option<Alarm>,
}

impl Elements for Sleepy {
    fn next(&mut self) -> Pending<'_, Option<Element>> {
        Box::pin(async move {
            let alarm = match &mut self.alarm {
                Some(alarm) => alarm,
                alarm => alarm.insert(Alarm::new(self.pause)?),
            };
            alarm.wait().await?;
            self.input.next().await
        })
    }

    /// Elements that nobody looks at need no time.
    fn skip(&mut self, count: u64) -> Pending<'_, u64> {
        self.input.skip(count)
    }
}

/// A thread that waits, so that no thread that computes has to. It ends with the alarm.
struct Alarm(mpsc::Sender<oneshot::Sender<()>>);

impl Alarm {
    fn new(pause: Duration) -> Result<Alarm> {
        let (sender, calls) = mpsc::channel::<oneshot::Sender<()>>();
        let run = move || {
            while let Ok(call) = calls.recv() {
                // Nobody calls while a call waits, so that only the end can come before its time.
                match calls.recv_timeout(pause) {
                    Err(RecvTimeoutError::Timeout) => call.send(()).ok(),
                    _ => return,
                };
            }
        };
        thread::Builder::new()
            .name("sleep".to_owned())
            .spawn(run)
            .map_err(|error| internal!("no thread for a pause: {error}"))?;
        Ok(Alarm(sender))
    }

    async fn wait(&self) -> Result<()> {
        let (call, answer) = oneshot::channel();
        let ended = || internal!("a pause ended unexpectedly");
        self.0.send(call).map_err(|_| ended())?;
        answer.await.map_err(|_| ended())
    }
}
