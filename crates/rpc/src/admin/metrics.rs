//! A status as Prometheus reads it. No series is named after a session: there may be any number.

use std::fmt::Write;

use super::status::TaskStatus;

/// Renders a status in the text format 0.0.4.
pub(super) fn render(status: &TaskStatus) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, series: Vec<(String, f64)>| {
        // Writing to a string cannot fail.
        let _ =
            writeln!(text, "# HELP tensorfleet_{name} {help}\n# TYPE tensorfleet_{name} {kind}");
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
    text
}
