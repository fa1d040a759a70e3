"""The sorted table of a run, as text and as the page `docs/kernels.md`."""

import statistics

from conformance.bench import table

_INTRO = """# Kernels, one by one

One op a step, on data that the server keeps, on TensorFlow's server and on ours in alternating rounds of one run; values are compared first.
`cargo xtask bench kernels` writes this page; [its tables](../conformance/bench/kernels/rows) are one file a family.

*Ratio* is the best round of ours divided by TensorFlow's best, on the client's clock: below 1 is faster.
*CPU* is the same for the processor time of the servers.
Steps contain the way to the server and back, which small rows mostly measure.
Compare nothing here with a number of another run.
"""


def line(measured):
    theirs, ours = (table.duration(measured[side]["best"]) for side in ("tensorflow", "tensorfleet"))
    return (
        f"{measured['ratio']:6.2f} {table.number(measured['cpu_ratio']):>6} {theirs:>10} {ours:>10}  "
        f"{measured['name']} ({measured['size']})"
    )


def summary(result):
    rows = result["rows"]
    if not rows:
        return "nothing was measured"
    ratios = [row["ratio"] for row in rows]
    slower = [row for row in rows if row["ratio"] > 1.05]
    return (
        f"{len(rows)} rows, median {statistics.median(ratios):.2f}; "
        f"{len(slower)} above 1.05, {sum(ratio > 2 for ratio in ratios)} above 2; "
        f"{len(result['failed'])} failed, {len(result['untimed'])} ops without a row"
    )


def render(result):
    """Returns the text of the page."""
    machine = result["machine"]
    parts = [
        _INTRO,
        f"Measured on {machine['processor']}, {machine['cores']} cores, {machine['system']}, with TensorFlow "
        f"{result['tensorflow']}, at {result['started']}, commit {result['commit']}, {result['rounds']} rounds of "
        f"{result['seconds']} s; the load of the machine was {result['load']['before']:.1f} before and "
        f"{result['load']['after']:.1f} after.\n",
        f"{summary(result)}.\n",
        "| ratio | CPU | TensorFlow | ours | row | size |",
        "|--:|--:|--:|--:|---|---|",
    ]
    for row in result["rows"]:
        theirs, ours = (table.duration(row[side]["best"]) for side in ("tensorflow", "tensorfleet"))
        parts.append(
            f"| {row['ratio']:.2f} | {table.number(row['cpu_ratio'])} | {theirs} | {ours} "
            f"| {row['name']} | {row['size']} |"
        )
    if result["failed"]:
        parts += ["\n## Not measured\n"]
        parts += [f"- {name}: {why}" for name, why in result["failed"].items()]
    parts += ["\n## Ops without a row\n", ", ".join(result["untimed"]) or "None.", ""]
    return "\n".join(parts)
