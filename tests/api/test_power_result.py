import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import PowerResult
from coherence.analysis.power import _table as power_table

SETTINGS = {"population": "agent rational", "planted": "hidden_signal", "policies": False}
SETTINGS |= {"checks": ["sufficiency"], "n_simulations": 100, "alpha": 0.05}
SETTINGS |= {"n_draws": {"sufficiency": 999}, "target": None, "seed": 1}


def row(signal=0.0, n_contexts=50, rejected=5):
    fields = {"check": "sufficiency", "signal": signal, "n_reps": 5}
    fields |= {"n_contexts": n_contexts, "quantity": "power" if signal else "size"}
    fields |= {"n_simulations": 100, "n_undefined": 0, "n_rejected": rejected}
    fields |= {"power": rejected / 100, "low": 0.0, "high": 1.0, "half_width": np.nan}
    return fields | {"n_prompts": n_contexts * 10}


def result(*rows, needed=None, **settings):
    table = pd.DataFrame(rows or [row(), row(signal=0.2, rejected=61)])
    return PowerResult(table, pd.DataFrame(needed or []), SETTINGS | settings, ())


def test_a_test_that_keeps_no_level_is_said_to():
    """Ten of 30 cells of a test of level .05 are above it by chance alone in some; not in all."""
    bad = [note for note in result(row(rejected=20)).notes if "nothing is planted" in note]
    assert "sufficiency rejects 20% of studies" in bad[0]
    chance = [row(n_contexts=n, rejected=5 + (n == 50) * 6) for n in range(10, 310, 10)]
    assert not any("nothing is planted" in note for note in result(*chance).notes)


def test_a_search_is_told_in_sentences_with_its_bill():
    sentence = "80% power takes about 65 contexts (95% interval 60 to 70)."
    needed = {"check": "sufficiency", "signal": 0.2, "n_reps": 5, "n_contexts": 65.0}
    needed |= {"sentence": sentence, "n_prompts": 650.0, "tokens_in": 65_000.0}
    needed |= {"tokens_out": 6_500.0, "price": 0.125, "hours": 1.25}
    text = str(result(needed=[needed], target=0.8))
    assert "sufficiency, signal 0.2, 5 repetitions: 80% power takes about 65" in text
    assert "650 prompts, 65,000 tokens in, 6,500 tokens out, price 0.12, 1.25 hours" in text
    assert "contexts x" not in text
    unknown = needed | {"n_prompts": np.nan, "sentence": "80% power is not reached"}
    assert "nan" not in str(result(needed=[unknown], target=0.8))


def test_estimates_have_widths_and_no_power():
    options = {"n_contexts": [30, 120], "n_reps": 2, "signal": [], "n_simulations": 10}
    estimates = coherence.power("noisy", check="calibration", **options, rng=1)
    table = estimates.table
    assert set(table["quantity"]) == {"precision"}
    assert table[["power", "low", "high", "n_rejected"]].isna().all(axis=None)
    brier = table[table["check"] == "calibration:brier"].set_index("n_contexts")["half_width"]
    # Four times the contexts halve the width.
    assert brier[30] / brier[120] == pytest.approx(2, rel=0.25)
    assert "calibration:brier, half the width of the interval" in str(estimates)
    record = json.loads(estimates.to_json())
    assert record["table"][0]["power"] is None
    assert record["table"][0]["half_width"] == table["half_width"].iloc[0]


def test_the_half_width_is_the_median_over_studies_with_an_interval():
    """Breaks if a mean, or the studies without an interval, move it."""
    cell = SimpleNamespace(signal=0.0, n_reps=2, n_contexts=30, position=0)
    widths = np.array([0.1, 0.2, 0.9, np.nan])
    simulations = SimpleNamespace(
        plan=SimpleNamespace(estimates=lambda _: True, margin=None),
        results=["calibration:brier"],
        kept=[cell],
        numbers=lambda *_: widths,
    )
    row = power_table(simulations, 0.05).iloc[0]
    assert (row["half_width"], row["n_undefined"]) == (0.2, 1)
