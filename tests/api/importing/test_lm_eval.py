import gzip
import json
import math
from pathlib import Path

import pandas as pd
import pytest

from coherence import InputError

GOLDEN = Path(__file__).parents[2] / "golden"
TEXT = next(GOLDEN.glob("samples_rain_text_*.jsonl"))
YES = next(GOLDEN.glob("samples_rain_yes_*.jsonl"))
CHOICE = next(GOLDEN.glob("samples_rain_choice_*.jsonl"))


def test_lm_eval_texts_come_with_their_repeats(imported, study):
    runs = imported(TEXT).runs.set_index(["context", "rep"])
    assert len(runs) == 36
    for case in study.CASES:
        for rep in range(study.REPS):
            assert runs.loc[(case.number, rep), "raw_belief"] == case.belief(rep)
    assert runs["theta"].tolist() == [
        int(case.rained) for case in study.CASES for _ in range(study.REPS)
    ]
    assert "action" not in runs.columns


def test_lm_eval_likelihoods_become_shares_by_hand(imported, study):
    runs = imported(YES, CHOICE, belief=["rain_yes"], model="fixed").runs
    # The script gave Yes .9 times the share, and No the rest of the .9.
    shares = [
        min(max(case.p_true + 0.05 * (case.number % 3 - 1), 0.02), 0.98) for case in study.CASES
    ]
    assert runs["p"].tolist() == pytest.approx(shares, abs=1e-12)
    assert runs["answer_mass"].tolist() == pytest.approx([0.9] * 18, abs=1e-12)
    offered = [
        case.action(0) if case.action(0) in ("take", "leave") else None for case in study.CASES
    ]
    # The study's one unreadable first action made both options equally likely: no choice.
    assert [None if pd.isna(action) else action for action in runs["action"]] == offered
    assert set(runs["model"]) == {"fixed"}


def test_choices_that_differ_between_documents_are_no_belief(tmp_path, imported):
    path = tmp_path / "samples_quiz_2026-01-05T12-00-00.000000.jsonl"
    lines = [json.loads(line) for line in YES.read_text().splitlines()]
    lines[3]["arguments"]["gen_args_0"]["arg_1"] = " Never"
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match="nothing says which field holds the belief"):
        imported(path)
    assert "choices differ" in imported(TEXT, path, belief=["rain_text"]).notes[0]


def test_an_infinite_likelihood_is_no_answer(tmp_path, imported):
    path = tmp_path / "samples_rain_2026-01-05T12-00-00.000000.jsonl"
    lines = [json.loads(line) for line in YES.read_text().splitlines()]
    lines[0]["resps"][0][0][0] = "-inf"
    path.write_text("\n".join(map(json.dumps, lines)))
    row = imported(path).runs.iloc[0]
    assert pd.isna(row["p"])
    assert row["status"] == "unparsed"


@pytest.mark.parametrize(
    ("value", "message"), [("12", "must not be positive; received 12"), ("low", "is no number")]
)
def test_an_impossible_likelihood_is_an_error(tmp_path, value, message, imported):
    path = tmp_path / "samples_rain_2026-01-05T12-00-00.000000.jsonl"
    lines = [json.loads(line) for line in YES.read_text().splitlines()]
    lines[2]["resps"][0][0][0] = value
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(InputError, match=f"line 3: .*{message}"):
        imported(path)


def test_filters_of_lm_eval_are_fields_and_no_second_answers(tmp_path, imported):
    path = tmp_path / "samples_rain_2026-01-05T12-00-00.000000.jsonl"
    lines = [json.loads(line) for line in TEXT.read_text().splitlines()]
    strict = [line | {"filter": "strict", "filtered_resps": ["0.5"]} for line in lines]
    path.write_text("\n".join(map(json.dumps, [*lines, *strict])))
    assert len(imported(path).runs) == 36
    kept = imported(path, mapping={"p": "filtered.strict"}).runs
    assert kept.loc[kept["rep"] == 0, "p"].eq(0.5).all()
    assert (
        kept.loc[kept["rep"] == 1, "status"].eq("unparsed").all()
    )  # the filter kept the first repeat only


def one_continuation(tmp_path, *continuations, likelihoods=("-6.907755278982137", "-0.25")):
    """Write what a task of the type loglikelihood logs: one request per document."""
    lines = [
        {
            "doc_id": number,
            "doc": {"text": "Will it rain? Answer:", "outcome": "Yes"},
            "target": "Yes" if number else "No",
            "arguments": {
                "gen_args_0": {"arg_0": "Will it rain? Answer:", "arg_1": f" {continuation}"}
            },
            "resps": [[[likelihood, "False"]]],
            "filtered_resps": [[likelihood, "False"]],
            "filter": "none",
            "metrics": ["perplexity", "acc"],
            "perplexity": float(likelihood),
            "acc": 0.0,
        }
        for number, (continuation, likelihood) in enumerate(
            zip(continuations, likelihoods, strict=True)
        )
    ]
    path = tmp_path / "samples_rain_one_2026-01-05T12-00-00.000000.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_one_continuation_has_its_own_probability_and_no_share_of_one(tmp_path, imported):
    study_log = imported(one_continuation(tmp_path, "Yes", "Yes"))
    runs = study_log.runs
    assert runs["p"].tolist() == pytest.approx([0.001, math.exp(-0.25)], rel=1e-12)
    assert runs["theta"].tolist() == [0, 1]
    assert "answer_mass" not in runs.columns
    assert "its probability is taken as it stands" in study_log.notes[0]


def test_one_continuation_is_no_choice_and_needs_a_state(tmp_path, imported):
    path = one_continuation(tmp_path, "rain", "rain")
    with pytest.raises(InputError, match="one continuation was scored, 'rain'.*--positive rain"):
        imported(path, mapping={"theta": "-"})
    runs = imported(path, positive="rain", mapping={"theta": "-"}).runs
    assert runs["p"].tolist() == pytest.approx([0.001, math.exp(-0.25)], rel=1e-12)
    with pytest.raises(InputError, match="nothing says which field holds the action"):
        imported(TEXT, path, belief=["rain_text"])
    with pytest.raises(InputError, match="nothing says which field holds the belief"):
        imported(one_continuation(tmp_path, "Yes", "rain"))


def test_samples_packed_by_gzip_keep_their_task(tmp_path, imported):
    path = tmp_path / f"{YES.name}.gz"
    path.write_bytes(gzip.compress(YES.read_bytes(), mtime=0))
    study_log = imported(path)
    assert study_log.mapped[0].startswith("belief from rain_yes (")
    pd.testing.assert_frame_equal(study_log.runs, imported(YES).runs)
