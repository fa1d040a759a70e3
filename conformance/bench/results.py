"""Results as files: one run, one directory, never two together."""

import json

from conformance.bench import page

FILE = "results.json"


class DifferentRuns(SystemExit):
    """Results of several runs were given where ratios hold only within one."""


def refuse_existing(directory):
    """Ends the program if a directory has the results of an earlier run."""
    if (directory / FILE).exists():
        raise DifferentRuns(
            f"{directory / FILE} is of another run; times of two runs do not compare, "
            "so results are never put together: give a new directory"
        )


def save(result, directory):
    """Writes the results of a run and returns where."""
    refuse_existing(directory)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / FILE
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path


def load_one(paths):
    """Reads the results of a run; files of several runs are refused."""
    loaded = [json.loads(path.read_text()) for path in paths]
    if len({each["run"] for each in loaded}) > 1:
        raise DifferentRuns("these are results of different runs, which do not compare: give one")
    return loaded[0]


def write_page(result, docs):
    """Writes the page about a run, with its plots beside it."""
    plots = docs / "benchmarks"
    plots.mkdir(parents=True, exist_ok=True)
    for old in plots.glob("*.svg"):
        old.unlink()
    text, drawn = page.render(result)
    (docs / "benchmarks.md").write_text(text)
    for name, svg in drawn.items():
        (plots / name).write_text(svg)
