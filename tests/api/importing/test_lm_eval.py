import gzip
import json

import pandas as pd
import pytest

from coherence import InputError
from coherence.runs.columns import PERCENT
from tests.api.importing.conftest import CHOICE, TEXT, YES, imported, write_lines


def logged(tmp_path, change, source=YES):
    """Write a log anew, with its lines changed."""
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    path = tmp_path / "samples_rain_2026-01-05T12-00-00.000000.jsonl"
    return write_lines(path, change(lines) or lines)


def likelihood(number, value):
    return lambda lines: lines[number]["resps"][0][0].__setitem__(0, value)


def test_lm_eval_texts_come_with_their_repeats(study):
    runs = imported(TEXT).runs.set_index(["context", "rep"])
    assert len(runs) == 36
    for case in study.CASES:
        for rep in range(study.REPS):
            assert runs.loc[(case.number, rep), "raw_belief"] == case.belief(rep)
    truths = [int(case.rained) for case in study.CASES for _ in range(study.REPS)]
    assert runs["theta"].tolist() == truths
    assert "action" not in runs.columns


def test_lm_eval_likelihoods_become_shares_by_hand(study, tmp_path):
    runs = imported(YES, CHOICE, belief="rain_yes", model="fixed").runs
    # The script gave Yes .9 times the share, and No the rest of the .9.
    shares = [
        min(max(case.p_true + 0.05 * (case.number % 3 - 1), 0.02), 0.98) for case in study.CASES
    ]
    assert runs["p"].tolist() == pytest.approx(shares, abs=1e-12)
    assert runs["answer_mass"].tolist() == pytest.approx([0.9] * 18, abs=1e-12)
    said = [case.action(0) for case in study.CASES]
    offered = [action if action in ("take", "leave") else None for action in said]
    # The study's one unreadable first action made both options equally likely: no choice.
    assert [None if pd.isna(action) else action for action in runs["action"]] == offered
    assert set(runs["model"]) == {"fixed"}
    packed = tmp_path / f"{YES.name}.gz"
    packed.write_bytes(gzip.compress(YES.read_bytes(), mtime=0))
    pd.testing.assert_frame_equal(imported(packed).runs, imported(YES).runs)


def test_an_infinite_likelihood_is_no_answer_and_an_impossible_one_an_error(tmp_path):
    row = imported(logged(tmp_path, likelihood(0, "-inf"))).runs.iloc[0]
    assert (pd.isna(row["p"]), row["status"]) == (True, "unparsed")
    for value, said in (("12", "not positive; received .*12"), ("low", "must be numbers")):
        with pytest.raises(InputError, match=f"line 3: .*{said}"):
            imported(logged(tmp_path, likelihood(2, value)))


def test_a_second_filter_of_lm_eval_is_no_second_answer(tmp_path):
    strict = {"filter": "strict", "filtered_resps": ["0.5"]}
    path = logged(tmp_path, lambda lines: [*lines, *(line | strict for line in lines)], TEXT)
    assert len(imported(path).runs) == 36


def test_choices_that_are_scored_alone_or_twice_have_no_shares(tmp_path):
    def alone(lines):
        del lines[0]["arguments"]["gen_args_1"], lines[0]["resps"][1:]

    def twice(lines):  # as with and without the context
        lines[0]["arguments"]["gen_args_2"] = lines[0]["arguments"]["gen_args_0"]
        lines[0]["resps"].append([["-9.0", "False"]])

    for change, said in ((alone, "two at least.*multiple_choice"), (twice, "every choice once")):
        with pytest.raises(InputError, match=f"line 1: .*{said}"):
            imported(logged(tmp_path, change))


def test_states_without_a_positive_one_get_a_column_each(tmp_path, study):
    def weather(lines):
        for line in lines:
            for number, state in enumerate((" dry", " rain")):
                line["arguments"][f"gen_args_{number}"]["arg_1"] = state

    path = logged(tmp_path, weather)
    runs = imported(path).runs
    assert (runs["p_dry"] + runs["p_rain"]).tolist() == pytest.approx([1.0] * 18)
    assert runs["theta"].tolist() == ["rain" if case.rained else "dry" for case in study.CASES]
    for options in ({}, {"line": PERCENT}):  # shares are no percentages
        chosen = imported(path, positive="Rain", **options).runs
        assert chosen["p"].tolist() == runs["p_rain"].tolist()
        assert chosen["theta"].tolist() == [int(case.rained) for case in study.CASES]
    with pytest.raises(InputError, match="received 'snow'"):
        imported(path, positive="snow")
