//! A status as Prometheus reads it. No series is named after a session: there may be any number.

use std::fmt::Write;

use super::status::TaskStatus;

/// How a scraper wants to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsFormat {
    /// Prometheus's text format 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.0.
    OpenMetrics,
}

/// Renders a status.
pub(super) fn render(status: &TaskStatus, format: MetricsFormat) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, series: Vec<(String, f64)>| {
        let family = match format {
            MetricsFormat::Prometheus => name,
            MetricsFormat::OpenMetrics => name.strip_suffix("_total").unwrap_or(name),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "# HELP tensorfleet_{family} {help}\n# TYPE tensorfleet_{family} {kind}"
        );
        for (labels, value) in series {
            let _ = writeln!(text, "tensorfleet_{name}{labels} {value}");
        }
    };
    let alone = |value: f64| vec![(String::new(), value)];
    let build = format!("{{version=\"{}\",task=\"{}\"}}", status.version, status.task);
    family("build_info", "gauge", "What runs here, as labels.", vec![(build, 1.0)]);
    let ready = f64::from(u8::from(status.state == "serving"));
    family("ready", "gauge", "Whether the task takes new steps.", alone(ready));
    family(
        "start_time_seconds",
        "gauge",
        "When it began to serve, since 1970.",
        alone(status.started_seconds),
    );
    family(
        "resident_memory_bytes",
        "gauge",
        "Memory of the process.",
        alone(status.memory_bytes as f64),
    );
    family(
        "sessions",
        "gauge",
        "Sessions that are open on this master.",
        alone(status.sessions.len() as f64),
    );
    family(
        "contexts",
        "gauge",
        "Contexts of TensorFlow 2 clients.",
        alone(status.contexts.len() as f64),
    );
    let of_contexts = |count: fn(&super::status::ContextStatus) -> usize| {
        alone(status.contexts.iter().map(count).sum::<usize>() as f64)
    };
    family(
        "context_handles",
        "gauge",
        "Tensors that contexts keep for their clients.",
        of_contexts(|context| context.tensors),
    );
    family(
        "context_functions",
        "gauge",
        "Functions of contexts, and parts of them that run here for others.",
        of_contexts(|context| context.functions + context.components),
    );
    family(
        "worker_sessions",
        "gauge",
        "Sessions that masters keep here.",
        alone(status.worker_sessions as f64),
    );
    family("graphs", "gauge", "Partitions that are registered here.", alone(status.graphs as f64));
    family(
        "open_steps",
        "gauge",
        "Steps that hold or await tensors here.",
        alone(status.open_steps as f64),
    );
    let work = |value: fn(&super::status::WorkStatus) -> f64| {
        let series = status.work.iter();
        series.map(|(kind, work)| (format!("{{kind=\"{kind}\"}}"), value(work))).collect::<Vec<_>>()
    };
    family("work_running", "gauge", "Work under way.", work(|work| work.running as f64));
    family("work_total", "counter", "Work that ended.", work(|work| work.done as f64));
    family("work_failed_total", "counter", "Work that failed.", work(|work| work.failed as f64));
    family("work_seconds_total", "counter", "Time that work took.", work(|work| work.seconds));
    let errors = status.errors.iter();
    let errors = errors.map(|(code, count)| (format!("{{code=\"{code}\"}}"), *count as f64));
    family("errors_total", "counter", "Failures by code.", errors.collect());
    let resources = |value: fn(&super::inventory::Total) -> u64| {
        let series = status.resources.iter();
        let series =
            series.map(|(kind, total)| (format!("{{kind=\"{kind}\"}}"), value(total) as f64));
        series.collect::<Vec<_>>()
    };
    family("resources", "gauge", "What outlives steps here.", resources(|total| total.count));
    family("resource_bytes", "gauge", "Memory of it, about.", resources(|total| total.bytes));
    family("resource_reads_total", "counter", "Reads of it.", resources(|total| total.reads));
    family("resource_updates_total", "counter", "Changes of it.", resources(|total| total.updates));
    family(
        "resource_waiting",
        "gauge",
        "Who stands in line for it.",
        resources(|total| total.waiting),
    );
    let top = |value: fn(&super::inventory::ResourceStatus) -> u64| {
        let named = status.top_resources.iter().filter(|top| top.kind == "variables");
        let series =
            named.map(|top| (format!("{{name={}}}", quoted(&top.name)), value(top) as f64));
        let mut series = series.collect::<Vec<_>>();
        // A name may be in several containers; a series is there once.
        series.sort_by(|a, b| a.0.cmp(&b.0));
        series.dedup_by(|a, b| a.0 == b.0);
        series
    };
    family("top_variable_bytes", "gauge", "The largest variables.", top(|top| top.bytes));
    family(
        "top_variable_updates_total",
        "counter",
        "Changes of the variables that change most.",
        top(|top| top.updates),
    );
    if let Some(journal) = &status.journal {
        let numbers = [
            ("told", Some(journal.told)),
            ("durable", Some(journal.durable)),
            ("backed_up", journal.backed_up),
        ];
        let numbers = numbers.into_iter().filter_map(|(state, number)| {
            number.map(|number| (format!("{{state=\"{state}\"}}"), number as f64))
        });
        family("journal_records", "gauge", "The last records of the journal.", numbers.collect());
        let lags = [("disk", Some(journal.lag_seconds)), ("backup", journal.backup_lag_seconds)];
        let lags = lags
            .into_iter()
            .filter_map(|(place, lag)| lag.map(|lag| (format!("{{place=\"{place}\"}}"), lag)));
        family("journal_lag_seconds", "gauge", "The age of what is not there yet.", lags.collect());
    }
    let lost = status.peers.iter().filter(|peer| ["lost", "awaited"].contains(&peer.state)).count();
    family("peers_lost", "gauge", "Other tasks that do not answer.", alone(lost as f64));
    let waiting: usize = status.peers.iter().map(|peer| peer.waiting).sum();
    family("peer_calls_waiting", "gauge", "Calls that wait for others.", alone(waiting as f64));
    let (rendezvous, pools) = (&status.rendezvous, &status.pools);
    let depths = [
        ("rendezvous_held", "Tensors that nobody has fetched yet.", rendezvous.held),
        ("rendezvous_held_bytes", "Their bytes.", rendezvous.held_bytes),
        ("rendezvous_awaited", "Tensors that are waited for.", rendezvous.awaited),
        ("compute_threads", "Threads that compute.", pools.compute_threads),
        ("compute_waiting", "Work that waits for such a thread.", pools.compute_waiting),
        ("files_running", "Work with files under way.", pools.files_running),
        ("files_waiting", "Work with files that waits for a thread.", pools.files_waiting),
    ];
    for (name, help, value) in depths {
        family(name, "gauge", help, alone(value as f64));
    }
    let held = status.held.iter();
    let held = held.map(|(who, bytes)| (format!("{{identity={}}}", quoted(who)), *bytes as f64));
    family("identity_memory_bytes", "gauge", "Memory of tensors by identity.", held.collect());
    if let Some(limit) = status.memory_limit_bytes {
        family("memory_limit_bytes", "gauge", "What tensors may hold.", alone(limit as f64));
    }
    if let Some(end) = status.certificate_end_seconds {
        family(
            "certificate_end_time_seconds",
            "gauge",
            "When the first certificate or authority ends, since 1970.",
            alone(end),
        );
    }
    if format == MetricsFormat::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

/// A label's value, as both formats write it.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_labels_cannot_leave_them() {
        assert_eq!(quoted("a\"b\\c\nd"), r#""a\"b\\c\nd""#);
    }
}
