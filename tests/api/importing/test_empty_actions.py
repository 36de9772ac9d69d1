"""An empty action means the same to `analyze` and to `import` and then `analyze`."""

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, read_runs, simulate


@pytest.fixture
def table(tmp_path):
    runs = simulate("rational", n_contexts=40, n_reps=1, prompts=("standard",), rng=1)
    runs = runs[runs["z_state"].isna()][["context", "p", "action", "theta"]].reset_index(drop=True)
    runs.loc[:8, "action"] = None
    path = tmp_path / "own.csv"
    runs.to_csv(path, index=False)
    return path


def unreadable(runs):
    (unit,) = analyze(runs, checks=["monotone_choice"], rng=1).evaluations
    rates = unit.bounds[unit.bounds["quantity"] == "choice rate"]
    return rates[["asked", "unreadable", "low", "high"]].to_numpy().tolist()


@pytest.mark.lengthy
def test_an_import_keeps_what_is_unreadable(table, tmp_path, run):
    """Nine empty cells were nine unreadable answers to one way, and none to the other."""
    out = tmp_path / "runs.csv"
    assert run("import", str(table), "--out", str(out))[0] == 0
    imported = read_runs(out)
    assert imported["status"].value_counts().to_dict() == {"ok": 31, "unparsed": 9}
    direct = unreadable(read_runs(table))
    assert [row[:2] for row in direct] == [[40, 9]] * len(direct)
    np.testing.assert_allclose(unreadable(imported), direct)


def test_rows_that_ask_for_no_action_keep_their_status(tmp_path, run):
    rows = [("a", "a", "standard", None, None, None, "yes"), ("b", "a", "standard", *[None] * 4)]
    rows += [("a", "a", "mse", *[None] * 4), ("a", "a", "standard", "sky", "low", 0.3, None)]
    rows += [("a", "b", "standard", *[None] * 4)]
    names = ["context", "model", "prompt", "z", "z_state", "p_z", "action"]
    told = pd.DataFrame(rows, columns=names).assign(p=0.5)
    path, out = tmp_path / "own.csv", tmp_path / "runs.csv"
    told.to_csv(path, index=False)
    assert run("import", str(path), "--out", str(out))[0] == 0
    # Another prompt, a belief given z, and a model that was asked for beliefs alone.
    assert pd.read_csv(out)["status"].tolist() == ["ok", "unparsed", "ok", "ok", "ok"]
    told.assign(status=["ok", "refused", "ok", "ok", "ok"]).to_csv(path, index=False)
    assert run("import", str(path), "--out", str(out), "--force")[0] == 0
    assert pd.read_csv(out)["status"].tolist() == ["ok", "refused", "ok", "ok", "ok"]
