//! What became of calls, kept with what they changed: after a crash a call that is made again is
//! recognised, and answered with what it had sent.
//!
//! A unit that belongs to a call begins with a frame that names the call, and ends with one that says what
//! became of it. Those that nobody has forgotten are told anew after each snapshot.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use tensorfleet_framework::{CallId, Parcel, Recalled, Sent, StepId};
use tensorfleet_tensor::{DType, Result};

use crate::payload::{Payload, Reader};

/// So many calls are remembered at the most: their masters may be gone.
const CALLS: usize = 4096;
/// What a call has sent is kept up to so many bytes a tensor: before its first change, which is what
/// the others have read, and after it, which is what they learn of the change; and in all.
const READ: usize = 256;
const LEARNT: usize = 64 << 10;
const IN_ALL: usize = 1 << 20;

/// What became of a call.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) call: CallId,
    pub(crate) what: Recalled,
    pub(crate) sent: Vec<(String, Parcel)>,
}

/// What a call has sent so far.
#[derive(Debug, Default)]
pub(crate) struct SentSoFar {
    pub(crate) parcels: Vec<(String, Parcel)>,
    bytes: usize,
}

impl SentSoFar {
    /// Keeps a tensor if it is small.
    pub(crate) fn keep(&mut self, key: &str, parcel: &Parcel, has_changed: bool) {
        let dtype = parcel.tensor.dtype();
        if dtype != DType::String && !dtype.is_plain() {
            return;
        }
        let strings = || parcel.tensor.strings().map_or(0, |all| all.iter().map(|s| s.len()).sum());
        let bytes =
            parcel.tensor.byte_len().max(if dtype == DType::String { strings() } else { 0 });
        let limit = if has_changed { LEARNT } else { READ };
        if bytes <= limit && self.bytes + bytes <= IN_ALL {
            self.bytes += bytes;
            self.parcels.push((key.to_owned(), parcel.clone()));
        }
    }
}

/// The frame at the beginning of a unit.
pub(crate) fn begun(unit: u64, call: CallId) -> Payload {
    with_call(Payload::default().long(unit), call)
}

pub(crate) fn read_begun(mut reader: Reader<'_>) -> Result<(u64, CallId)> {
    let read = (reader.long()?, read_call(&mut reader)?);
    reader.end()?;
    Ok(read)
}

fn with_call(payload: Payload, call: CallId) -> Payload {
    payload.long(call.session).long(call.step as u64).word(call.device)
}

fn read_call(reader: &mut Reader<'_>) -> Result<CallId> {
    Ok(CallId { session: reader.long()?, step: reader.long()? as i64, device: reader.word()? })
}

impl Outcome {
    /// The frame of a unit; unit zero means that it has been told before.
    pub(crate) fn encode(&self, unit: u64) -> Result<Payload> {
        let payload = with_call(Payload::default().long(unit), self.call);
        let payload = payload.byte(u8::from(self.what == Recalled::Done));
        self.sent.iter().try_fold(payload.word(self.sent.len() as u32), |payload, (key, parcel)| {
            payload.bytes(key.as_bytes()).byte(u8::from(parcel.is_dead)).tensor(&parcel.tensor)
        })
    }

    pub(crate) fn decode(mut reader: Reader<'_>) -> Result<(u64, Outcome)> {
        let (unit, call) = (reader.long()?, read_call(&mut reader)?);
        let what = if reader.byte()? != 0 { Recalled::Done } else { Recalled::Cut };
        let count = reader.word()?;
        let sent = (0..count).map(|_| {
            let (key, is_dead) = (reader.text()?, reader.byte()? != 0);
            Ok((key, Parcel { tensor: reader.tensor()?, is_dead }))
        });
        let sent = sent.collect::<Result<_>>()?;
        reader.end()?;
        Ok((unit, Outcome { call, what, sent }))
    }
}

/// The calls that a log tells of.
#[derive(Debug, Default)]
pub(crate) struct ToldCalls {
    begun: Vec<(u64, CallId)>,
    outcomes: Vec<(u64, Outcome)>,
}

impl ToldCalls {
    pub(crate) fn begun(&mut self, reader: Reader<'_>) -> Result<()> {
        self.begun.push(read_begun(reader)?);
        Ok(())
    }

    pub(crate) fn outcome(&mut self, reader: Reader<'_>) -> Result<()> {
        self.outcomes.push(Outcome::decode(reader)?);
        Ok(())
    }

    /// What became of them, where the changes of these units stand.
    pub(crate) fn stand(self, standing: &FxHashSet<u64>) -> Outcomes {
        let mut outcomes = Outcomes::default();
        let mut told = FxHashSet::default();
        for (unit, outcome) in self.outcomes {
            if unit == 0 || standing.contains(&unit) {
                told.insert(unit);
                outcomes.insert(outcome, true);
            }
        }
        for (unit, call) in self.begun {
            // It had not ended, but others that have are built on it.
            if standing.contains(&unit) && !told.contains(&unit) {
                outcomes.insert(Outcome { call, what: Recalled::Cut, sent: Vec::new() }, true);
            }
        }
        outcomes
    }
}

/// The calls that are remembered, by step.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    known: FxHashMap<i64, Vec<Known>>,
    /// The steps, the oldest first, with those that are forgotten.
    order: VecDeque<i64>,
}

#[derive(Debug)]
struct Known {
    outcome: Arc<Outcome>,
    /// Whether it was done in a former life of the task.
    is_former: bool,
}

impl Outcomes {
    pub(crate) fn insert(&mut self, outcome: Outcome, is_former: bool) {
        let step = outcome.call.step;
        let calls = self.known.entry(step).or_default();
        if calls.is_empty() {
            self.order.push_back(step);
        }
        calls.retain(|known| known.outcome.call != outcome.call);
        calls.push(Known { outcome: Arc::new(outcome), is_former });
        while self.known.len() > CALLS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        if self.order.len() > 4 * CALLS {
            let known = &self.known;
            self.order.retain(|step| known.contains_key(step));
        }
    }

    fn former(&self, step: i64) -> impl Iterator<Item = &Outcome> {
        let known = self.known.get(&step).into_iter().flatten();
        known.filter(|known| known.is_former).map(|known| &*known.outcome)
    }

    pub(crate) fn recall(&self, call: CallId) -> Option<Recalled> {
        self.former(call.step).find(|outcome| outcome.call == call).map(|outcome| outcome.what)
    }

    pub(crate) fn recall_sent(&self, step: StepId, device: u32, key: &str) -> Option<Sent> {
        let mut found = None;
        for outcome in self.former(step.0).filter(|outcome| outcome.call.device == device) {
            match outcome.sent.iter().find(|(sent, _)| sent == key) {
                Some((_, parcel)) => return Some(Sent::Kept(parcel.clone())),
                None => found = Some(Sent::Lost(outcome.what)),
            }
        }
        found
    }

    pub(crate) fn forget(&mut self, step: StepId) {
        self.known.remove(&step.0);
    }

    /// All that are remembered.
    pub(crate) fn all(&self) -> Vec<Arc<Outcome>> {
        let known = self.order.iter().filter_map(|step| self.known.get(step)).flatten();
        known.map(|known| Arc::clone(&known.outcome)).collect()
    }
}
