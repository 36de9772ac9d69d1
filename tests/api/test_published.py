"""Scripts that read data of others, on invented files of the same layout: none are shipped."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from coherence import analyze

FOLDER = Path(__file__).parents[2] / "examples" / "published"


def script(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def clone(tmp_path):
    """Three files as in the repository: percentages, a date in place of "1 1", a missing answer."""
    folder = tmp_path / "failure-to-mix" / "data"
    folder.mkdir(parents=True)
    flip = [("m", p, int(p > 50), "success") for p in (25, 50, 75) for _ in range(20)]
    columns = ["model", "p", "answer", "status"]
    pd.DataFrame(flip, columns=columns).to_csv(folder / "fig1_single_flip.csv", index=False)
    two = [
        ("m", p, "2025-01-01 00:00:00" if (a, b) == (1, 1) else f"{a} {b}", "success", a, b)
        for p in (25, 50, 75)
        for a, b in [(0, 1), (1, 0), (1, 1), (0, 0)] * 5
    ]
    columns = ["model", "p", "raw_text", "status", "flip_1", "flip_2"]
    pd.DataFrame(two, columns=columns).to_csv(folder / "fig2_sequential_flips.csv", index=False)
    three = [("m", p, "draw", "1.0") for p in (0, 20, 60) for _ in range(9)]
    three += [("m", 0, "draw", "")]
    columns = ["model", "p", "prompt", "answer"]
    pd.DataFrame(three, columns=columns).to_csv(folder / "fig4_ternary.csv", index=False)
    return folder.parent


def test_counts_of_the_mixing_answers(clone):
    module = script("failure_to_mix")
    answers = module.read_answers(clone)
    counts = answers.set_index(["experiment", "p", "answer"])["count"]
    assert counts["flip", 0.25, "0"] == 20
    assert counts["two_flips", 0.5, "1 1"] == 5
    assert counts["three_outcomes", 0.6, "1"] == 9  # 0% of 2 are 60% of 0
    assert answers.loc[answers["answer"].isna(), "count"].tolist() == [1]
    rates = pd.Series({0.25: 0.0, 0.5: 0.5, 0.75: 1.0})
    # A rate of 0, one half, 1: triangles of sides .25 inside, and the ends at 0 and 1 held.
    assert module.step_likeness(rates) == pytest.approx(4 * 4 * 0.25 * 0.25 / 2)


def test_the_mixing_script_prints_both_numbers_and_writes_answers_that_are_read(clone, tmp_path):
    command = [sys.executable, FOLDER / "failure_to_mix.py", clone, "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for part in ("two_flips  first", "equal in 0.500 of answers", "[", "p = "):
        assert part in done.stdout
    assert pd.read_csv(tmp_path / "out" / "answers.csv")["count"].sum() == 148


def test_judgements_become_beliefs_and_beliefs_given_another_event():
    """Coherent people have no gap, in either direction of a pair."""
    rows = []
    for person in range(30):
        both, only_a, only_b = 20 + person % 10, 10, 30
        a, b = both + only_a, both + only_b
        plain = ("A", "wet", a), ("B", "cold", b), ("AorB", "wet or cold", a + only_b)
        others = ("notA", "not wet", 100 - a), ("notB", " not cold", 100 - b)
        of_a = ("AgB", "wet given cold", 100 * both / b), ("BgA", "cold given wet", 100 * both / a)
        of_b = (
            ("AgnotB", "wet given not cold", 100 * only_a / (100 - b)),
            ("BgnotA", "cold given not wet", 100 * only_b / (100 - a)),
        )
        rows += [(person, 1, *query) for query in (*plain, *others, *of_a, *of_b)]
    columns = ["ID", "block", "querytype", "querydetail", "estimate"]
    runs = script("human_judgements").as_runs(pd.DataFrame(rows, columns=columns))
    assert sorted(runs["task"].unique()) == ["cold, by wet", "wet, by cold"]
    assert len(runs) == 30 * 2 * 3
    report = analyze(runs, checks=["iterated_expectation"], rng=1)
    gaps = report.results.query("check == 'iterated_expectation'")["estimate"]
    assert gaps.abs().max() < 1e-9
    script("human_judgements").print_gaps(report)
