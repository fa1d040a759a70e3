//! Groups and their collectives as the leader keeps them: everybody waits until all have come.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tensorfleet_framework::{CollectiveKind, DeviceName, Group, Member};
use tensorfleet_tensor::{DType, Error, Result, failed_precondition, internal};
use tokio::sync::watch;

use super::peer::{CompleteGroup, CompleteInstance};
use crate::session::lock;

/// Groups by key. A group stays for as long as its task, as its members rely on.
#[derive(Debug, Default)]
pub(super) struct Groups {
    table: Mutex<FxHashMap<i32, watch::Sender<Gathering>>>,
}

/// A group while its members come.
#[derive(Debug)]
struct Gathering {
    size: usize,
    device_type: String,
    members: Vec<Member>,
    complete: Option<Arc<Group>>,
    error: Option<Error>,
}

impl Groups {
    /// Adds a member, and waits for the others.
    pub(super) async fn join(&self, request: CompleteGroup) -> Result<Arc<Group>> {
        let mut seen = {
            let mut table = lock(&self.table);
            let group = table.entry(request.key).or_insert_with(|| {
                watch::Sender::new(Gathering {
                    size: request.size,
                    device_type: request.device_type.clone(),
                    members: Vec::new(),
                    complete: None,
                    error: None,
                })
            });
            group.send_modify(|group| group.add(request));
            group.subscribe()
        };
        let done = |group: &Gathering| group.complete.is_some() || group.error.is_some();
        let group = seen.wait_for(done).await.map_err(|_| internal!("the group is gone"))?;
        match (&group.error, &group.complete) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(group)) => Ok(Arc::clone(group)),
            (None, None) => Err(internal!("the group is not complete")),
        }
    }

    /// A group that is complete.
    pub(super) fn find(&self, key: i32) -> Option<Arc<Group>> {
        lock(&self.table).get(&key)?.borrow().complete.clone()
    }

    /// Keeps what the leader said.
    pub(super) fn learn(&self, size: usize, device_type: String, group: Arc<Group>) {
        let members = group.members.clone();
        let key = group.key;
        let complete = Some(group);
        let learned = Gathering { size, device_type, members, complete, error: None };
        lock(&self.table).entry(key).or_insert_with(|| watch::Sender::new(learned));
    }
}

impl Gathering {
    /// A member that does not fit fails the group for everybody, as nobody can go on.
    fn add(&mut self, request: CompleteGroup) {
        if self.error.is_some() {
            return;
        }
        self.error = self.misfit(&request);
        let is_new = !self.members.iter().any(|known| known.device == request.member.device);
        if self.error.is_none() && is_new {
            self.members.push(request.member);
            if self.members.len() == self.size {
                self.complete = Some(Arc::new(Group::new(request.key, self.members.clone())));
            }
        }
    }

    fn misfit(&self, request: &CompleteGroup) -> Option<Error> {
        let CompleteGroup { name, key, size, device_type, member } = request;
        let (device, known) = (&member.device, &self.device_type);
        if device_type != known {
            return Some(internal!(
                "Collective Op {name} is assigned to device {device} with type {device_type} and \
                 group_key {key} but that group has type {known}"
            ));
        }
        if *size != self.size {
            return Some(internal!(
                "Collective Op {name} has group_size {size} and group_key {key} but that group has \
                 size {}",
                self.size
            ));
        }
        match self.members.iter().find(|known| known.device == *device) {
            Some(known) if known.incarnation != member.incarnation => Some(failed_precondition!(
                "Device {device} current incarnation doesn't match with one in the group. This \
                 usually means this worker has restarted but the collective leader hasn't, or this \
                 worker connects to a wrong cluster."
            )),
            None if self.members.len() == self.size => Some(internal!(
                "Collective Op {name} is assigned to device {device} and group_key {key} but that \
                 group doesn't contain that device."
            )),
            _ => None,
        }
    }
}

/// Collectives by the keys of group and instance.
#[derive(Debug, Default)]
pub(super) struct Instances {
    table: Mutex<FxHashMap<(i32, i32), watch::Sender<Meeting>>>,
}

/// A collective while the members of its group come to it.
#[derive(Debug)]
struct Meeting {
    kind: CollectiveKind,
    dtype: DType,
    missing: Vec<DeviceName>,
    source: Option<usize>,
    error: Option<Error>,
}

impl Instances {
    /// Counts a member in, and waits for the others. Returns the rank of the source.
    pub(super) async fn join(
        &self,
        group: &Group,
        request: CompleteInstance,
    ) -> Result<Option<usize>> {
        let mut seen = {
            let mut table = lock(&self.table);
            let meeting = table.entry((group.key, request.instance)).or_insert_with(|| {
                watch::Sender::new(Meeting {
                    kind: request.kind,
                    dtype: request.dtype,
                    missing: group.members.iter().map(|m| m.device.clone()).collect(),
                    source: None,
                    error: None,
                })
            });
            meeting.send_modify(|meeting| meeting.add(group, &request));
            meeting.subscribe()
        };
        let done = |meeting: &Meeting| meeting.missing.is_empty() || meeting.error.is_some();
        let meeting = seen.wait_for(done).await.map_err(|_| internal!("the instance is gone"))?;
        match &meeting.error {
            Some(error) => Err(error.clone()),
            None => Ok(meeting.source),
        }
    }
}

impl Meeting {
    fn add(&mut self, group: &Group, request: &CompleteInstance) {
        let (instance, kind, dtype) = (request.instance, request.kind, request.dtype);
        if self.error.is_some() {
            return;
        }
        if kind != self.kind || dtype != self.dtype {
            self.error = Some(internal!(
                "Collective instance {instance} expected type {} and data_type {} but got type {} \
                 and data_type {}",
                self.kind as i32,
                self.dtype as i32,
                kind as i32,
                dtype as i32
            ));
            return;
        }
        let Some(at) = self.missing.iter().position(|missing| *missing == request.device) else {
            return;
        };
        self.missing.swap_remove(at);
        if request.is_source {
            let rank = group.rank(&request.device);
            match self.source {
                Some(source) => {
                    self.error = Some(internal!(
                        "Instance {instance} already has source {source}, received second claim \
                         from {}",
                        rank.unwrap_or_default()
                    ));
                }
                None => self.source = rank,
            }
        }
        if self.missing.is_empty() && kind == CollectiveKind::Broadcast && self.source.is_none() {
            self.error = Some(internal!(
                "Instance {instance} found no source for broadcast. This could mean that there were \
                 group_size={} BcastRecvs but no BcastSend.",
                group.members.len()
            ));
        }
    }
}
