"""Results as lines of text."""

_LIMIT_NAMES = {
    "memcpy_gb_s": "memcpy, one thread",
    "tcp_gb_s": "TCP over loopback",
    "unix_gb_s": "Unix socket",
    "tcp_round_trip_us": "TCP round trip of one byte",
    "fma_one_gflops": "multiply-add, one thread",
    "fma_all_gflops": "multiply-add, all threads",
}

_UNITS = {"gb_s": "GB/s", "us": "us", "gflops": "GFLOP/s"}


def machine(result):
    m = result["machine"]
    return (
        f"{m['processor']}, {m['cores']} cores, {m['memory_gb']} GB, {m['system']}; "
        f"TensorFlow {result['tensorflow']}, Python {m['python']}, commit {result['commit']}; "
        f"load {result['load']['before']:.1f}; run {result['run']}"
    )


def header():
    return (
        f"{'case':28} {'TensorFlow':>10} {'ours':>10}  {'best':>5} {'median':>6} {'cpu':>5} "
        f"{'memory':>6}  target"
    )


def row(case):
    theirs, ours = case["sides"]["tensorflow"], case["sides"]["tensorfleet"]
    ratio = case["ratio"]
    return (
        f"{case['name']:28} {duration(theirs['best']):>10} {duration(ours['best']):>10}  "
        f"{number(ratio['best']):>5} {number(ratio['median']):>6} {number(ratio['cpu']):>5} "
        f"{number(ratio['resident']):>6}  {verdict(case)}"
    )


def summary(result):
    lines = [""]
    for name, value in result["limits"].items():
        lines.append(f"{limit_name(name):32} {value:8.2f} {limit_unit(name)}")
    lines.append("")
    for line in slopes(result):
        each = f"{duration(line['tensorflow'])} and {duration(line['tensorfleet'])}"
        lines.append(f"{line['name']}: one more costs {each}, ratio {line['ratio']:.2f}")
    missed = [case["name"] for case in result["cases"] if not meets(case)]
    lines.append(f"targets missed: {', '.join(missed) or 'none'}")
    for name, reason in result["failed"].items():
        lines.append(f"FAILED {name}: {reason}")
    lines.append(f"load {result['load']['before']:.1f} before, {result['load']['after']:.1f} after")
    return "\n".join(lines)


def slopes(result):
    """What one more task costs on either side: the slope of the line through a curve's points."""
    found = []
    for name, cases in curves(result).items():
        if cases[0]["curve"]["x_label"] == "bytes" or len(cases) < 2:
            continue
        line = {"name": name}
        for side in ("tensorflow", "tensorfleet"):
            points = [(case["curve"]["x"], case["sides"][side]["best"]) for case in cases]
            line[side] = _slope(points)
        line["ratio"] = line["tensorfleet"] / line["tensorflow"]
        found.append(line)
    return found


def curves(result):
    """The cases of each curve, by its name."""
    found = {}
    for case in result["cases"]:
        if case["curve"]:
            found.setdefault(case["curve"]["name"], []).append(case)
    return found


def meets(case):
    """Tells whether a case meets its targets; one without targets does."""
    pairs = [(case["target"], "best"), (case["resident_target"], "resident")]
    return all(limit is None or case["ratio"][key] <= limit for limit, key in pairs)


def verdict(case):
    if case["target"] is None:
        return ""
    memory = f", memory {case['resident_target']}" if case["resident_target"] else ""
    return f"{case['target']}{memory} {'met' if meets(case) else 'MISSED'}"


def duration(seconds):
    if abs(seconds) >= 1:
        return f"{seconds:.2f} s"
    if abs(seconds) >= 1e-3:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds * 1e6:.0f} us"


def number(value):
    return "-" if value is None else f"{value:.2f}"


def limit_name(key):
    return _LIMIT_NAMES.get(key, key)


def limit_unit(key):
    return next(unit for end, unit in _UNITS.items() if key.endswith(end))


def _slope(points):
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    above = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return above / sum((x - mean_x) ** 2 for x, _ in points)
