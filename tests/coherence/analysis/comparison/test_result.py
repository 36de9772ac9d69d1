import json
import re
from dataclasses import FrozenInstanceError

import pytest

import coherence
from coherence import Comparison, compare

QUICK = ["calibration:brier", "report_noise"]


def test_text_names_every_effect_estimate_rank_and_letter(compared):
    text = str(compared)
    assert text.startswith("simulated, 100 cases\n")
    for effect in dict.fromkeys(compared.estimates["effect"]):
        assert f"  {effect}: " in text
    row = compared.estimates.query("effect == 'report_noise' and model == 'heaping'").iloc[0]
    assert re.search(rf"heaping {row['estimate']:.3f} {row['letters']} \(3\)", text)
    assert compared.summary in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 110
    assert len(text.splitlines()) < 45


@pytest.mark.lengthy
def test_models_that_are_left_out_are_named_with_the_reason(asked):
    tables = asked | {"rational": asked["rational"].drop(columns="action")}
    text = str(compare(tables, effects=["residual_covariance"], rng=1))
    assert "without rational: no readable belief with a readable action" in text


def test_the_summary_counts_differences(compared):
    tested = compared.differences.dropna(subset="pvalue")
    n_bh = int((tested["pvalue_bh"] <= 0.05).sum())
    assert 0 < n_bh < len(tested)
    assert compared.summary.startswith(f"{len(tested)} pairs of models and effects were compared")
    assert f"{n_bh} differ at a false discovery rate of 5%" in compared.summary


def test_json_holds_every_number_unrounded(compared):
    record = json.loads(compared.to_json())
    for name in ("estimates", "differences"):
        table = getattr(compared, name)
        assert len(record[name]) == len(table)
        first = table.iloc[0]
        value = "estimate" if name == "estimates" else "difference"
        assert record[name][0][value] == first[value]
    assert record["settings"]["n_contexts"] == {"simulated": 100}
    assert record["notes"] == list(compared.notes)


def test_a_comparison_is_frozen_and_public(compared):
    assert isinstance(compared, Comparison)
    assert coherence.compare is compare
    with pytest.raises(FrozenInstanceError):
        compared.notes = ()
    assert repr(compared) == "<Comparison: 3 models, 1 task, 11 effects>"


@pytest.mark.lengthy
def test_hostile_names_reach_no_terminal(asked):
    evil = "\x1b[31mred\x1b[0m\nnote: all is well"
    runs = {evil: asked["rational"].drop(columns="model"), "b": asked["heaping"]}
    text = str(compare(runs, effects=QUICK, rng=1))
    assert "\x1b" not in text
    assert "\nnote: all is well" not in text


def test_many_notes_do_not_fill_the_screen(compared):
    many = Comparison(
        compared.estimates, compared.differences, tuple(map(str, range(30))), compared.settings
    )
    assert str(many).splitlines()[-1] == "note: 22 more in `notes`"
