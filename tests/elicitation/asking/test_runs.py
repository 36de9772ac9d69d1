"""From answers to rows: breaks if an answer lands on the wrong row or gets a value not stated."""

import pandas as pd
import pytest

from bayesnets import posterior
from coherence.runs.read import validate_runs
from elicitation import Design, Distribution, elicit


def test_the_table_is_valid_complete_and_true(asia, cases, store, scripted):
    runs, tally = elicit(scripted(), asia, cases, store, design=Design(reps=2))
    validate_runs(runs)
    assert len(runs) == 12 * 2 * (4 + 2)
    assert (tally.asked, tally.reused, tally.total) == (12 * 2 * 8, 0, 12 * 2 * 8)
    ordinary, conditional = runs[runs["z"].isna()], runs[runs["z"].notna()]
    # The action stands on the standard rows and nowhere else.
    for column in ("action", "raw_action"):
        assert (ordinary[column].notna() == (ordinary["prompt"] == "standard")).all()
    assert conditional["action"].isna().all()
    assert (conditional["prompt"] == "standard").all()
    assert (ordinary.loc[ordinary["prompt"] == "mse", "p"] == 0.6).all()
    # Every value is the one that its raw answer states.
    stated = runs["raw_belief"].str.extract(r"Yes: ([0-9.]+)")[0].astype(float)
    assert runs["p"].tolist() == stated.tolist()
    by_context = cases.set_index("context")
    for row in runs.itertuples():
        case = by_context.loc[row.context]
        known = case.filter(like="x_").dropna()
        evidence = {name.removeprefix("x_"): state for name, state in known.items()}
        assert row.theta == case["theta"]
        assert {name: getattr(row, f"x_{name}") for name in evidence} == evidence
        if pd.isna(row.z):
            assert row.p_true == pytest.approx(case["p_true"])
            assert pd.isna(row.p_z)
            continue
        assert row.z == case["z"]
        truth = posterior(asia.network, {**evidence, row.z: row.z_state}, "lung")["yes"].item()
        share = posterior(asia.network, evidence, row.z)[row.z_state].item()
        assert (row.p_true, row.p_z_true) == (pytest.approx(truth), pytest.approx(share))
        if row.z != "either":  # its labels hold commas, which the script does not read
            assert row.p_z == {"yes": 0.25, "no": 0.75}[row.z_state]


@pytest.mark.parametrize(
    ("answers", "status", "kept"),
    [
        ({"decision": "I cannot decide."}, "refused", "p"),
        ({"belief": "Perhaps."}, "unparsed", "action"),
        ({"belief": "No: 40\nYes: 60"}, "out_of_range", "action"),
        ({"belief": "Perhaps.", "decision": "I cannot decide."}, "refused", None),
    ],
)
def test_a_row_has_its_gravest_status_and_keeps_what_could_be_read(
    asia, cases, store, answers, status, kept, scripted
):
    runs, tally = elicit(scripted(answers), asia, cases, store, design=Design(reps=1))
    rows = runs[(runs["prompt"] == "standard") & runs["z"].isna()]
    assert (rows["status"] == status).all()
    for column in ("p", "action"):
        assert rows[column].notna().all() == (column == kept)
        assert rows[column].isna().all() == (column != kept)
    assert rows["raw_belief"].notna().all()
    validate_runs(runs)
    assert tally.readable < tally.total


class Even:
    """Gives equal probabilities to all answers in a form."""

    name = fingerprint = "even"

    def generate(self, requests):
        raise NotImplementedError

    answer_kinds = ("lines", "choice")

    def distributions(self, questions):
        for position, (_, form) in enumerate(questions):
            outcomes = [part.outcomes for part in form.parts]
            even = [dict.fromkeys(names, 1 / len(names)) for names in outcomes]
            yield position, Distribution(tuple(even))


def test_an_action_is_a_distribution_over_what_was_offered(store):
    table = pd.DataFrame({"context": ["a", "b"], "belief_question": ["Rain?", "Snow?"]})
    table["action_question"] = ["What now?", "And now?"]
    table["options"] = [("wait", "treat"), ("wait", "refer")]
    design = Design(answers="exact", prompts=("standard", "mse"))
    runs, _ = elicit(Even(), "questions", table, store, design=design)
    names = ["action_wait", "action_treat", "action_refer"]
    assert "action" not in runs
    position = list(runs).index("belief_kind") + 1
    assert list(runs)[position : position + 3] == names
    # What was not offered was not chosen; what was not asked stays unknown.
    standard = runs["prompt"] == "standard"
    assert runs.loc[standard, names].to_numpy().tolist() == [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    assert runs.loc[~standard, names].isna().all(axis=None)
    assert (runs.dtypes[["p_sd", *names]] == "float64").all()
