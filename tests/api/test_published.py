"""Scripts that read data of others, on invented files of the same layout: none are shipped."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
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
    from coherence.batteries import read_mixing_answers

    assert read_mixing_answers(tmp_path / "out" / "answers.csv")["count"].sum() == 148


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


def test_forecasts_of_replications_are_those_of_the_files(tmp_path, capsys):
    """Two projects with equal numbers of findings, trades out of order, and a person unnamed."""
    rng = np.random.default_rng(2)
    ids = [("RPP", at) for at in range(1, 21)] + [("ML2", at) for at in range(1, 21)]
    findings = pd.DataFrame(ids, columns=["project", "finding_id"])
    findings["replicated"] = (rng.random(40) < 0.5).astype(int)
    findings.to_csv(tmp_path / "All Study Data.csv", index=False)
    said = findings.loc[findings.index.repeat(3), ["project", "finding_id"]]
    said = said.assign(forecaster_id=["a", "b", None] * 40, response=rng.random(120).round(2))
    said.to_csv(tmp_path / "All Survey Data.csv", index=False)
    late, early = (
        findings[["project", "finding_id"]].assign(time_stamp=time, price=rng.random(40))
        for time in ("2012-11-09T10:24:21Z", "2012-11-09T10:08:20Z")
    )
    pd.concat([late, early]).to_csv(tmp_path / "All Market Data.csv", index=False)
    module = script("replication_markets")
    forecasts = module.read_forecasts(tmp_path)
    by_model = forecasts.groupby("model")
    sizes = dict.fromkeys((module.MARKET, module.MEAN, module.MEDIAN), 40) | {module.ONE: 120}
    assert by_model.size().to_dict() == sizes
    market = by_model.get_group(module.MARKET).set_index("context")
    assert market.loc["ML27", "p"] == pytest.approx(late["price"].iloc[26])
    assert market.loc["ML27", "replicated"] == findings["replicated"].iloc[26]
    mean = by_model.get_group(module.MEAN).set_index("context")["p"]
    assert mean["RPP20"] == pytest.approx(said["response"].iloc[57:60].mean())
    module.print_published(forecasts)
    right = (market["p"] > 0.5) == (market["replicated"] == 1)
    assert f"market: {right.sum()} of 40 on the right side" in capsys.readouterr().out
    scores = module.scored(forecasts).scores.set_index("model")
    error = (market["p"] - market["replicated"]) ** 2
    assert scores.loc[module.MARKET, "brier"] == pytest.approx(error.mean())
    assert (scores["n_contexts"] == 40).all()
