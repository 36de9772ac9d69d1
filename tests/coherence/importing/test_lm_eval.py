import json
from pathlib import Path

import pandas as pd
import pytest

from coherence.errors import InputError

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
