import base64
import hashlib
import json
import re
from xml.etree import ElementTree

import pandas as pd
import pytest

import coherence
from tests.api.tables import read_exactly

FAST = ["--effects", "calibration:brier,report_noise"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("rational", "noisy"):
        runs = coherence.simulate(name, n_contexts=40, n_reps=2, rng=1, iterated=False)
        coherence.write_runs(runs.drop(columns="model"), folder / f"{name}.parquet")
    return folder


def test_the_command_writes_what_the_function_returns(files, tmp_path, run):
    paths = [str(files / f"{name}.parquet") for name in ("rational", "noisy")]
    out = tmp_path / "out"
    status, printed, _ = run("compare", *paths, *FAST, "--seed", "3", "--out", out)
    assert status == 0
    expected = coherence.compare(
        {name: coherence.read_runs(files / f"{name}.parquet") for name in ("rational", "noisy")},
        effects=["calibration:brier", "report_noise"],
        rng=3,
    )
    assert printed == f"{expected}\n"
    assert "rational" in printed  # a file without models is named by itself
    assert (out / "compare.html").read_text(encoding="utf-8") == expected.to_html()
    assert json.loads((out / "compare.json").read_text()) == json.loads(expected.to_json())
    ElementTree.parse(out / "compare.svg")
    for name in ("estimates", "differences"):
        table = getattr(expected, name)
        written = pd.read_parquet(out / f"{name}.parquet")
        assert list(written.columns) == list(table.columns)
        value = "estimate" if name == "estimates" else "difference"
        assert written[value].tolist() == table[value].tolist()
        assert read_exactly(out / f"{name}.csv")[value].tolist() == table[value].tolist()


@pytest.mark.lengthy
def test_runs_whose_cases_differ_end_with_one_line(files, tmp_path, run):
    runs = coherence.read_runs(files / "noisy.parquet")
    coherence.write_runs(runs[runs["context"] != "c0005"], tmp_path / "fewer.parquet")
    paths = [str(files / "rational.parquet"), str(tmp_path / "fewer.parquet")]
    status, _, error = run("compare", *paths, *FAST)
    assert status == 2
    assert "model 'fewer' lacks 1 of 40 contexts ('c0005')" in error
    assert error.count("\n") == 1
    status, out, _ = run("compare", *paths, *FAST, "--common")
    assert status == 0
    assert "1 of 40 contexts were left out" in out


@pytest.mark.lengthy
def test_a_leaderboard_is_one_page_that_sorts_by_numbers_and_trusts_no_name(files, tmp_path, run):
    for name, model in (("rational", "<b>1</b>"), ("noisy", "plain")):
        runs = coherence.read_runs(files / f"{name}.parquet").assign(model=model)
        coherence.write_runs(runs, tmp_path / f"{name}.parquet")
    paths = [str(tmp_path / f"{name}.parquet") for name in ("rational", "noisy")]
    scores = pd.DataFrame({"model": ["plain", "alone"], "experiment": [0, 2], "points": [100, 20]})
    scores = scores.assign(corrected=[81.25, 14.5], low=[70, 12.6], high=[90, 16.0])
    (tmp_path / "mix").mkdir()
    scores.to_csv(tmp_path / "mix" / "scores.csv", index=False)
    page = tmp_path / "board.html"
    options = ["--effects", "sufficiency", "--seed", "1", "--mixing", tmp_path / "mix"]
    assert run("compare", *paths, *options, "--leaderboard", page)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert "&lt;b&gt;1&lt;/b&gt;" in text
    assert "<b>1" not in text
    assert 'data-sort="0.8125">81% [70, 90]' in text
    assert "[63, 80] (exp. 2)" in text  # of a model without answers about cases
    own = re.search(r"<script>(.*)</script>", text, re.DOTALL).group(1)
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "http" not in text.replace("http-equiv", "")
