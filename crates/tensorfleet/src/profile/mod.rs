//! `tensorfleet profile`: where the time of a cluster's steps goes, by task, scope and op.
//!
//! What runs is known node by node (`trace`), so time is told in the words of the graph, which its author
//! knows; what the machine does inside of a kernel is for `perf`.

mod flame;

use std::collections::BTreeMap;

use tensorfleet_tensor::{Result, deadline_exceeded, unavailable};

use crate::cli::Profile;
use crate::status::runtime;
use crate::table::aligned;
use crate::trace::{Recorded, record};
use flame::Frame;

/// Steps are not kept beyond this: by then it is known where time goes.
const STEPS: usize = 10_000;

/// How many ops are told of.
const TOLD: usize = 15;

/// What an op took on a task.
#[derive(Debug, Default)]
struct Spent {
    calls: u64,
    seconds: f64,
}

/// Looks at a cluster for some time, writes a flame graph and returns a table.
pub(crate) fn run(profile: &Profile) -> Result<String> {
    let tasks = runtime()?.block_on(record(&profile.whose, STEPS, profile.time))?;
    let (mut root, mut by_op) = (Frame::default(), BTreeMap::new());
    for task in &tasks {
        add(task, &mut root, &mut by_op);
    }
    if by_op.is_empty() {
        return Err(deadline_exceeded!(
            "no step ran for {:?}: is somebody training on this cluster?",
            profile.time
        ));
    }
    std::fs::write(&profile.output, flame::draw(&root))
        .map_err(|error| unavailable!("{} cannot be written: {error}", profile.output.display()))?;
    Ok(format!("{}\nflame graph: {}\n", table(&by_op), profile.output.display()))
}

fn add(task: &Recorded, root: &mut Frame, by_op: &mut BTreeMap<(String, String), Spent>) {
    for part in task.told["parts"].as_array().into_iter().flatten() {
        for node in part["nodes"].as_array().into_iter().flatten() {
            let text = |index: usize| node[index].as_str().unwrap_or_default();
            let (name, op, seconds) = (text(0), text(1), node[3].as_f64().unwrap_or(0.0) / 1e6);
            let first = if waits(op) { "waits" } else { "computes" };
            let scopes = name.rsplit_once('/').map_or("", |(scopes, _)| scopes);
            let scopes = scopes.split('/').filter(|scope| !scope.is_empty());
            let path = [&*task.task, first].into_iter().chain(scopes).chain([op]);
            root.add(path, seconds);
            let spent = by_op.entry((task.task.clone(), op.to_owned())).or_default();
            spent.calls += 1;
            spent.seconds += seconds;
        }
    }
}

/// Time in these is not time of a processor.
fn waits(op: &str) -> bool {
    matches!(op, "_Recv" | "_HostRecv") || op.contains("Dequeue") || op.contains("TakeGradient")
}

fn table(by_op: &BTreeMap<(String, String), Spent>) -> String {
    let computed: f64 =
        by_op.iter().filter(|((_, op), _)| !waits(op)).map(|(_, spent)| spent.seconds).sum();
    let mut order: Vec<(&(String, String), &Spent)> = by_op.iter().collect();
    order.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
    let mut rows =
        vec![["TASK", "OP", "CALLS", "TIME", "EACH", "SHARE"].map(str::to_owned).to_vec()];
    for ((task, op), spent) in order.into_iter().take(TOLD) {
        let share = match waits(op) {
            true => "waits".to_owned(),
            false => format!("{:.1} %", 100.0 * spent.seconds / computed.max(f64::MIN_POSITIVE)),
        };
        rows.push(vec![
            task.clone(),
            op.clone(),
            spent.calls.to_string(),
            format!("{:.1} ms", spent.seconds * 1e3),
            format!("{:.1} µs", spent.seconds * 1e6 / spent.calls as f64),
            share,
        ]);
    }
    aligned(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_are_in_the_order_of_their_time() {
        let spent = |calls, seconds| Spent { calls, seconds };
        let of = |op: &str| ("ps/0".to_owned(), op.to_owned());
        let by_op = BTreeMap::from([
            (of("Add"), spent(10, 0.001)),
            (of("MatMul"), spent(2, 0.003)),
            (of("_Recv"), spent(4, 0.5)),
        ]);
        let expected = "\
TASK  OP      CALLS  TIME      EACH         SHARE
ps/0  _Recv   4      500.0 ms  125000.0 µs  waits
ps/0  MatMul  2      3.0 ms    1500.0 µs    75.0 %
ps/0  Add     10     1.0 ms    100.0 µs     25.0 %
";
        assert_eq!(table(&by_op), expected);
    }
}
