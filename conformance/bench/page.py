"""The page about a run, and its plots."""

from conformance.bench import plot, table

_INTRO = """# Benchmarks

The same TensorFlow client and the same graphs on TensorFlow's own servers and on ours, one process a task, in alternating rounds of one run.
Both sides' numbers are compared before and after the rounds; a case whose numbers differ is an error.
`cargo xtask bench` writes this page; [its cases](../conformance/bench/cases) are small files.

Ratios are ours divided by TensorFlow's: below 1 is faster, or less.
*Best* and *median* are of the rounds' times for a step, on the client's clock.
*CPU* is the processor time of all servers, which other load on the machine hardly changes.
*Memory* is what the servers have resident at the end.
Compare nothing here with a number of another run.
"""


def render(result):
    """Returns the text of the page and the plots it shows, by file name."""
    drawn = {"ratios.svg": _ratios(result)}
    parts = [_INTRO, _machine(result), "## Ratios\n", "![Ratios](benchmarks/ratios.svg)\n"]
    parts += [_cases(result), _limits(result)]
    for name, cases in table.curves(result).items():
        if len(cases) > 1:
            file = name.replace(",", "").replace(" ", "-").lower() + ".svg"
            drawn[file] = _curve(name, cases, result["limits"])
            parts += [f"## {name[0].upper()}{name[1:]}\n", f"![{name}](benchmarks/{file})\n"]
    parts.append(_slopes(result))
    if result["skipped"]:
        parts.append("## Left out\n")
        parts.append("".join(f"- {name}: {why}\n" for name, why in result["skipped"].items()))
    return "\n".join(part for part in parts if part).rstrip() + "\n", drawn


def _machine(result):
    m, load = result["machine"], result["load"]
    return (
        f"Measured on {m['processor']}, {m['cores']} cores, {m['memory_gb']} GB, {m['system']}, "
        f"with TensorFlow {result['tensorflow']} and Python {m['python']}, at {result['started']}, "
        f"commit {result['commit']}, {result['rounds']} rounds of {result['seconds']} s.\n"
        f"The load of the machine was {load['before']:.1f} before and {load['after']:.1f} after; "
        f"the run is {result['run']}.\n"
    )


def _cases(result):
    lines = [
        "| case | TensorFlow | ours | best | median | CPU | memory | target | rate |",
        "|---|--:|--:|--:|--:|--:|--:|---|---|",
    ]
    for case in result["cases"]:
        theirs, ours = case["sides"]["tensorflow"], case["sides"]["tensorfleet"]
        ratio = case["ratio"]
        cells = [
            case["name"],
            table.duration(theirs["best"]),
            table.duration(ours["best"]),
            f"**{table.number(ratio['best'])}**",
            table.number(ratio["median"]),
            table.number(ratio["cpu"]),
            table.number(ratio["resident"]),
            table.verdict(case),
            _rate(case, ours["best"], result["limits"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    lines += [f"- *{case['name']}*: {case['about']}." for case in result["cases"]]
    return "\n".join(lines) + "\n"


def _rate(case, seconds, limits):
    """Our rate, and how much of the physical limit that is."""
    if case["flops"]:
        return _of_limit(case["flops"] / seconds / 1e9, "fma_all_gflops", limits)
    if case["moved_bytes"] and len(case["jobs"]) > 1:
        return _of_limit(case["moved_bytes"] / seconds / 1e9, "tcp_gb_s", limits)
    if case["ops"]:
        return f"{seconds / case['ops'] * 1e9:.0f} ns an op"
    return ""


def _of_limit(rate, key, limits):
    text = f"{rate:.3g} {table.limit_unit(key)}"
    share = f", {rate / limits[key]:.0%} of {table.limit_name(key)}" if key in limits else ""
    return text + share


def _limits(result):
    if not result["limits"]:
        return ""
    lines = ["## Physical limits\n", "Measured in the same run, before and after the cases.\n"]
    lines += ["| limit | measured |", "|---|--:|"]
    for key, value in result["limits"].items():
        lines.append(f"| {table.limit_name(key)} | {value:.2f} {table.limit_unit(key)} |")
    return "\n".join(lines) + "\n"


def _slopes(result):
    slopes = table.slopes(result)
    if not slopes:
        return ""
    lines = ["## The cost of one more task\n", "The slope of the line through a curve's points.\n"]
    lines += ["| curve | TensorFlow | ours | ratio |", "|---|--:|--:|--:|"]
    for line in slopes:
        theirs, ours = table.duration(line["tensorflow"]), table.duration(line["tensorfleet"])
        lines.append(f"| {line['name']} | {theirs} | {ours} | {line['ratio']:.2f} |")
    return "\n".join(lines) + "\n"


def _ratios(result):
    bars = [
        plot.Bar(case["name"], case["ratio"]["best"], case["target"]) for case in result["cases"]
    ]
    return plot.bars("Time for a step, ours divided by TensorFlow's", bars)


def _curve(name, cases, limits):
    label = cases[0]["curve"]["x_label"]
    by_size = label == "bytes"
    lines = []
    for side in ("tensorflow", "tensorfleet"):
        points = []
        for case in cases:
            x, seconds = case["curve"]["x"], case["sides"][side]["best"]
            points.append((x, x / seconds / 1e9 if by_size else seconds * 1e3))
        lines.append(plot.Line(side, points))
    levels = {}
    if by_size and "tcp_gb_s" in limits:
        levels["TCP over loopback"] = limits["tcp_gb_s"]
    y_label = "GB/s" if by_size else "ms a step"
    return plot.curve(name, lines, label, y_label, log_x=by_size, levels=levels)
