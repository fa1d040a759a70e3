//! Broadcasting down a tree: first from task to task, then to all devices of each task.

use futures_util::future::try_join_all;
use tensorfleet_framework::Consume;
use tensorfleet_tensor::{Result, Shape, Tensor, internal};

use super::join::Membership;

/// A tree of some members.
#[derive(Debug, PartialEq, Eq)]
struct Tree {
    /// The ranks, in the group, of the members.
    members: Vec<usize>,
    /// The place of the one that has the value.
    source: usize,
}

/// Sends the value of the source to everybody, and returns it.
pub(super) async fn broadcast(
    member: &Membership,
    value: Option<Tensor>,
    shape: Shape,
) -> Result<Tensor> {
    let source = member.source.ok_or_else(|| internal!("a broadcast has no source"))?;
    let mut value = value;
    for (number, tree) in trees(&member.group.devices_per_task(), source).iter().enumerate() {
        let Some(place) = tree.members.iter().position(|&rank| rank == member.rank) else {
            continue;
        };
        let collectives = &member.place.collectives;
        if let Some(from) = tree.parent(place) {
            let request = Consume {
                from: member.group.members[tree.members[from]].clone(),
                to: member.place.device.clone(),
                key: member.key(format_args!("{number}:{from}:{place}")),
                dtype: member.collective.dtype,
                shape: shape.clone(),
            };
            value = Some(collectives.consume(request).await?);
        }
        let have = value.clone().ok_or_else(|| internal!("a broadcast came to nobody"))?;
        let is_source = member.rank == source;
        let sends = tree.children(place, is_source).into_iter().map(|to| {
            let key = member.key(format_args!("{number}:{place}:{to}"));
            collectives.provide(key, have.clone())
        });
        try_join_all(sends).await?;
    }
    value.ok_or_else(|| internal!("a broadcast did not come"))
}

/// With several tasks, a tree of one device of each comes first.
fn trees(per_task: &[usize], source: usize) -> Vec<Tree> {
    let mut trees = Vec::new();
    let mut across = Tree { members: Vec::new(), source: 0 };
    let mut before = 0;
    for (task, &count) in per_task.iter().enumerate() {
        let devices = before..before + count;
        let has_source = devices.contains(&source);
        if has_source {
            across.source = task;
        }
        across.members.push(if has_source { source } else { before });
        trees.push(Tree {
            members: devices.collect(),
            source: if has_source { source - before } else { 0 },
        });
        before += count;
    }
    if per_task.len() > 1 {
        trees.insert(0, across);
    }
    trees
}

/// The first member's children are the next two, and so on. A source that is not the first stands
/// before it as well as at its own place.
impl Tree {
    /// From whom a place receives.
    fn parent(&self, place: usize) -> Option<usize> {
        if place == self.source {
            return None;
        }
        if self.source == 0 {
            return Some((place - 1) / 2);
        }
        Some((place / 2).checked_sub(1).unwrap_or(self.source))
    }

    /// To whom a place sends.
    fn children(&self, place: usize, is_source: bool) -> Vec<usize> {
        let size = self.members.len();
        let mut children = Vec::new();
        if is_source && self.source != 0 {
            if size > 1 {
                children.push(0);
            }
            if size > 2 && self.source != 1 {
                children.push(1);
            }
        }
        let first = if self.source == 0 { 2 * place + 1 } else { 2 * (place + 1) };
        children.extend((first..first + 2).filter(|&to| to < size && to != self.source));
        children
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_but_the_source_has_one_parent() {
        for size in 1..12 {
            for source in 0..size {
                let tree = Tree { members: (0..size).collect(), source };
                let mut reached = vec![0; size];
                for place in 0..size {
                    for child in tree.children(place, place == source) {
                        assert_eq!(tree.parent(child), Some(place), "{tree:?}");
                        reached[child] += 1;
                    }
                }
                reached[source] += 1;
                assert!(reached.iter().all(|&times| times == 1), "{tree:?}: {reached:?}");
            }
        }
    }

    #[test]
    fn tasks_come_before_devices() {
        let tree = |members: &[usize], source| Tree { members: members.to_vec(), source };
        assert_eq!(trees(&[2], 1), [tree(&[0, 1], 1)]);
        let want = [tree(&[0, 3], 1), tree(&[0, 1], 0), tree(&[2, 3], 1)];
        assert_eq!(trees(&[2, 2], 3), want);
    }
}
