//! What the devices of a task keep between steps: variables, tables, queues.
//!
//! There may be any number, so all are counted by kind, and only the largest and those that change most
//! are named.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use tensorfleet_cluster::Task;
use tensorfleet_framework::Measured;

/// How many resources are named for their size, and how many for their changes.
const NAMED: usize = 20;

/// All resources of a task.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) totals: BTreeMap<&'static str, Total>,
    pub(super) top: Vec<ResourceStatus>,
}

/// What the resources of a kind are together.
#[derive(Debug, Default, Serialize)]
pub(super) struct Total {
    pub(super) count: u64,
    pub(super) bytes: u64,
    pub(super) reads: u64,
    pub(super) updates: u64,
    /// Who stands in line for them.
    pub(super) waiting: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct ResourceStatus {
    pub(super) name: String,
    container: String,
    device: String,
    pub(super) kind: &'static str,
    dtype: String,
    shape: String,
    entries: Option<u64>,
    capacity: Option<u64>,
    pub(super) bytes: u64,
    pub(super) reads: u64,
    pub(super) updates: u64,
    waiting: u64,
    /// Whether it survives the task's process.
    durable: bool,
}

impl Inventory {
    pub(super) fn of(task: &Task) -> Inventory {
        let devices = task.devices.iter();
        let resources = devices.flat_map(|local| {
            let device = local.name.to_string();
            local.resources.measure().into_iter().map(move |measured| status(&device, measured))
        });
        Inventory::from_all(resources.collect())
    }

    fn from_all(mut resources: Vec<ResourceStatus>) -> Inventory {
        let mut totals: BTreeMap<&'static str, Total> = BTreeMap::new();
        for resource in &resources {
            let total = totals.entry(resource.kind).or_default();
            total.count += 1;
            total.bytes += resource.bytes;
            total.reads += resource.reads;
            total.updates += resource.updates;
            total.waiting += resource.waiting;
        }
        let order = |resource: &ResourceStatus| Reverse((resource.updates, resource.bytes));
        resources.sort_by_key(order);
        let rest = resources.split_off(resources.len().min(NAMED));
        let mut rest = rest;
        rest.sort_by_key(|resource| Reverse(resource.bytes));
        resources.extend(rest.into_iter().take(NAMED));
        resources.sort_by_key(|resource| Reverse((resource.bytes, resource.updates)));
        Inventory { totals, top: resources }
    }
}

fn status(device: &str, measured: Measured) -> ResourceStatus {
    let Measured { container, name, type_name, durable, measure } = measured;
    ResourceStatus {
        name,
        container,
        device: device.to_owned(),
        kind: kind(type_name),
        dtype: measure.dtype,
        shape: measure.shape,
        entries: measure.entries,
        capacity: measure.capacity,
        bytes: measure.bytes,
        reads: measure.reads,
        updates: measure.updates,
        waiting: measure.waiting,
        durable,
    }
}

/// What people call a resource of a type.
fn kind(type_name: &str) -> &'static str {
    match type_name {
        "N10tensorflow3VarE" | "N10tensorflow9LegacyVarE" => "variables",
        "N10tensorflow6lookup15LookupInterfaceE" => "tables",
        "N10tensorflow14QueueInterfaceE" => "queues",
        "N10tensorflow26ConditionalAccumulatorBaseE" => "accumulators",
        "tensorflow::data::IteratorResource" => "iterators",
        _ => "others",
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_framework::Measure;

    use super::*;

    fn variable(name: usize, bytes: u64, updates: u64) -> ResourceStatus {
        let measure = Measure { bytes, updates, ..Measure::default() };
        let (container, type_name) = ("ps".to_owned(), "N10tensorflow3VarE");
        let (name, durable) = (name.to_string(), false);
        status("cpu", Measured { container, name, type_name, durable, measure })
    }

    #[test]
    fn the_largest_and_the_busiest_are_named_and_all_are_counted() {
        let mut resources: Vec<_> = (0..100).map(|name| variable(name, 1, 0)).collect();
        resources.push(variable(100, 1_000, 0));
        resources.push(variable(101, 1, 77));
        let inventory = Inventory::from_all(resources);
        let total = &inventory.totals["variables"];
        assert_eq!((total.count, total.bytes, total.updates), (102, 1_101, 77));
        assert_eq!(inventory.top.len(), 2 * NAMED);
        assert_eq!(inventory.top[0].name, "100");
        assert_eq!(inventory.top[1].name, "101");
    }
}
