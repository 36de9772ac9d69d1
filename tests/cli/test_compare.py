import json

import pytest

import coherence
from tests.api.tables import read_exactly

FAST = ["--effects", "calibration:brier"]


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
    status, printed, error = run(
        *("compare", *paths, *FAST, "--seed", "3", "--state", "realised", "--out", out),
        *("--fail-on", "verdict=acts_on_more", "--fail-on", "contexts<41"),
    )
    assert status == 1
    assert (
        "'contexts<41' holds: task 'simulated', model 'noisy': calibration:brier: contexts is 40"
        in error
    )
    assert "acts_on_more" not in error
    expected = coherence.compare(
        {name: coherence.read_runs(files / f"{name}.parquet") for name in ("rational", "noisy")},
        effects=["calibration:brier"],
        state="realised",
        rng=3,
    )
    assert printed == f"{expected}\n"
    assert "rational" in printed  # a file without models is named by itself
    assert (out / "compare.html").read_text(encoding="utf-8") == expected.to_html()
    assert json.loads((out / "compare.json").read_text()) == json.loads(expected.to_json())
    for name, value in (("effects", "estimate"), ("differences", "difference")):
        table = getattr(expected, name)
        written = read_exactly(out / f"{name}.csv")
        assert list(written.columns) == list(table.columns)
        assert written[value].tolist() == table[value].tolist()
    assert read_exactly(out / "verdicts.csv")["model"].tolist() == ["rational", "noisy"]
