"""The measuring apparatus itself, without a server."""

from xml.etree import ElementTree

import numpy as np
import pytest

from conformance.bench import case, cases, measure, results, table


class Fake(case.Program):
    """Computes a number at once."""

    def __init__(self, number):
        super().__init__(None)
        self.number, self.count = number, 0

    def step(self):
        self.count += 1

    def values(self):
        return [np.float32(self.number), np.int64(self.count)]

    def server_pids(self):
        return []


def _case(number_of_ours, **options):
    programs = lambda _: [Fake(1.0), Fake(number_of_ours)]
    return case.Case("fake", "A fake", {}, programs, **options)


def _result(run, *measured):
    machine = {"processor": "P", "cores": 2, "memory_gb": 1, "system": "S", "python": "3"}
    return {
        "run": run,
        "started": "now",
        "machine": machine,
        "tensorflow": "2",
        "commit": "c",
        "rounds": 2,
        "seconds": 0.1,
        "load": {"before": 0.0, "after": 0.0},
        "limits": {"tcp_gb_s": 4.0},
        "cases": list(measured),
        "skipped": {},
        "failed": {},
    }


def _measure(each):
    measured = measure.measure(each, None, measure.Options(rounds=2, seconds=0.001))
    for key in measured["ratio"]:
        measured["ratio"][key] = 0.5
    return measured


def test_both_sides_run_as_many_steps():
    measured = _measure(_case(1.0))
    assert measured["steps"] > 1
    assert len(measured["sides"]["tensorfleet"]["seconds"]) == 2


def test_wrong_numbers_are_an_error():
    with pytest.raises(measure.WrongNumbers, match="fake, value 0 before the rounds"):
        _measure(_case(1.01))


def test_results_of_two_runs_are_not_put_together(tmp_path):
    results.save(_result("a"), tmp_path / "a")
    results.save(_result("b"), tmp_path / "b")
    with pytest.raises(results.DifferentRuns):
        results.save(_result("b"), tmp_path / "a")
    files = [tmp_path / name / results.FILE for name in ("a", "b")]
    with pytest.raises(results.DifferentRuns):
        results.load_one(files)
    assert results.load_one(files[:1])["run"] == "a"


def test_page_and_plots(tmp_path):
    measured = [
        _measure(_case(1.0, target=0.6)),
        _measure(_case(1.0, curve=case.Curve("pull", 1e3, "bytes"), moved_bytes=1000)),
        _measure(_case(1.0, curve=case.Curve("pull", 1e6, "bytes"), moved_bytes=10**6)),
        _measure(_case(1.0, curve=case.Curve("more & more ps", 1, "ps"))),
        _measure(_case(1.0, curve=case.Curve("more & more ps", 2, "ps"))),
    ]
    result = _result("a", *measured)
    results.write_page(result, tmp_path)
    text = (tmp_path / "benchmarks.md").read_text()
    assert "| fake |" in text and "0.6 met" in text
    plots = sorted(path.name for path in (tmp_path / "benchmarks").glob("*.svg"))
    assert plots == ["more-&-more-ps.svg", "pull.svg", "ratios.svg"]
    for name in plots:
        ElementTree.parse(tmp_path / "benchmarks" / name)
        assert f"(benchmarks/{name})" in text
    assert [line["name"] for line in table.slopes(result)] == ["more & more ps"]


def test_every_case_is_described_once():
    everything = cases.load(cases.Sizes())
    names = [each.name for each in everything]
    assert len(set(names)) == len(names)
    assert all(each.about for each in everything)
