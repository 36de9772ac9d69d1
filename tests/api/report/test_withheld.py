"""What a verdict does not stand by is in no door of a report."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from coherence import analyze


@pytest.fixture(scope="module")
def still():
    """Beliefs within two points of .45, whatever the posterior, and choices by chance."""
    rng = np.random.default_rng(5)
    posterior = rng.uniform(0.02, 0.98, 60).round(2)
    truth = (rng.random(60) < posterior).astype(int)
    rows = pd.DataFrame({"context": range(60), "theta": truth, "p_true": posterior}).loc[
        np.repeat(np.arange(60), 3)
    ]
    rows["p"] = rng.choice([0.44, 0.45, 0.46], 60)[rows["context"]]
    rows["action"] = rng.choice(["yes", "no"], len(rows))
    return rows.assign(truth_kind="drawn").reset_index(drop=True)


def test_no_door_gives_the_effect_of_what_hardly_moves(still):
    report = analyze(still, rng=1)
    verdict = report.verdicts.iloc[0]
    assert verdict["verdict"] == "hardly_moves"
    assert (
        verdict[["estimate", "low", "high", "pvalue", "hidden_share", "plain_average"]].isna().all()
    )
    row = report.results.set_index("check").loc["sufficiency"]
    assert row[["estimate", "low", "high", "pvalue", "pvalue_bh"]].isna().all()
    assert row["reason"] == "cannot tell: hardly moves"
    assert not {"p_direction", "p_turn"} & set(json.loads(row["settings"]))
    (record,) = json.loads(report.to_json())["evaluations"]
    (primary,) = (each for each in record["results"] if each["check"] == "sufficiency")
    assert primary["estimate"] is None
    assert primary["details"] == []
    for name in ("hidden_share", "plain_average", "slope"):
        assert primary["also"][name]["value"] is None
        assert primary["also"][name]["reason"]
    assert "Undefined: cannot tell: hardly moves." in report.to_html()


def test_a_table_of_which_one_can_tell_keeps_its_numbers(still):
    chosen = np.random.default_rng(6).random(len(still)) < still["p_true"]
    moved = still.assign(p=still["p_true"].round(1), action=np.where(chosen, "yes", "no"))
    verdict = analyze(moved, checks=["sufficiency"], rng=1).verdicts.iloc[0]
    assert not math.isnan(verdict["estimate"])
