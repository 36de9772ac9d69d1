"""Sessions whose answers have the form of their question, exact and forced.

Breaks if a row is left without a value, if a distribution is computed twice, if drawn answers and
distributions disagree, or if a session that is started again gives another table.
"""

import json

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.runs.read import validate_runs
from elicitation import Answer, Design, Distribution, elicit, plan_task

ACTIONS = ["action_no", "action_yes", "action_defer"]


class Known:
    """Known probabilities of every answer, which differ between texts; counts what it is asked."""

    name, fingerprint = "known", "k"

    def __init__(self, mass=0.8):
        self.mass, self.asked = mass, []

    def generate(self, requests):
        raise AssertionError("nothing is to be asked in words")

    answer_kinds = ("lines", "number", "decision", "choice")

    def distributions(self, questions):
        for position, (text, form) in enumerate(questions):
            self.asked.append(text)
            yield position, Distribution(tuple(self.spread(text, part) for part in form.parts))

    def spread(self, text, part):
        rng = np.random.default_rng(list(f"{text}{part.prefill}".encode()))
        shares = rng.dirichlet(np.ones(len(part.outcomes))) * self.mass
        return dict(zip(part.outcomes, shares.tolist(), strict=True))


def test_an_exact_session_has_a_value_in_every_row_and_draws_nothing(asia, cases, store):
    known = Known()
    runs, tally = elicit(known, asia, cases, store, design=Design(answers="exact"))
    assert len(known.asked) == len(set(known.asked)) == tally.asked
    assert tally.readable == tally.total
    assert runs["p"].notna().all()
    for column, value in (("status", "ok"), ("belief_kind", "stated:exact"), ("seed", 0)):
        assert (runs[column] == value).all()
    np.testing.assert_allclose(runs["answer_mass"], 0.8)
    assert ((runs["p_q05"] <= runs["p"]) & (runs["p"] <= runs["p_q95"])).all()
    assert (runs["p_sd"] > 0).all()
    # The action is asked for once per context, and stands beside the reference framing.
    acted = runs["prompt"].eq("standard") & runs["z"].isna()
    np.testing.assert_allclose(runs.loc[acted, ACTIONS].sum(axis=1), 1)
    assert runs.loc[~acted, ACTIONS].isna().all(axis=None)
    assert "action" not in runs
    shares = runs.loc[runs["z"].notna()].groupby(["context", "z"])["p_z"].sum()
    np.testing.assert_allclose(shares, 1)
    row = runs.iloc[0]
    # Named by its line: a reader must not take the numbers for those of Yes.
    ((label, masses),) = json.loads(row["raw_belief"]).items()
    assert label == "No"
    yes, shares = 1 - np.array(list(masses), dtype=float), np.array(list(masses.values())) / 0.8
    mean = shares @ yes
    assert (row["p"], row["p_sd"]) == pytest.approx((mean, np.sqrt(shares @ (yes - mean) ** 2)))
    assert shares[yes < row["p_q05"]].sum() < 0.05 <= shares[yes <= row["p_q05"] + 1e-9].sum()


def test_forced_answers_read_like_stated_ones_and_share_their_distribution(asia, cases, store):
    known, design = Known(0.3), Design(answers="forced", reps=4)
    runs, tally = elicit(known, asia, cases, store, design=design)
    assert len(known.asked) == len(set(known.asked))
    assert tally.readable == tally.total == len(plan_task(asia, cases, design).questions)
    assert (runs["status"] == "low_mass").all()
    assert (runs["belief_kind"] == "stated:forced").all()
    np.testing.assert_allclose(runs["answer_mass"], 0.3)
    assert runs["raw_belief"].str.fullmatch(r"No: [01]\.[0-9]{2}\nYes: [01]\.[0-9]{2}").all()
    assert (runs["p"] == runs["raw_belief"].str.extract(r"Yes: (.*)")[0].astype(float)).all()
    acted = runs["prompt"].eq("standard") & runs["z"].isna()
    assert runs.loc[acted, "action"].isin(["yes", "no", "defer"]).all()
    assert not {"p_sd", *ACTIONS} & set(runs)
    # Draws differ, and more of them cost no further distribution.
    assert runs.groupby(["context", "prompt", "z_state"], dropna=False)["p"].nunique().max() > 1
    n_asked = len(known.asked)
    more, again = elicit(known, asia, cases, store, design=Design(answers="forced", reps=6))
    assert len(known.asked) == n_asked
    assert again.asked == again.total - tally.total
    pd.testing.assert_frame_equal(more.loc[more["rep"] < 4].reset_index(drop=True), runs)


@pytest.mark.parametrize("answers", ["exact", "forced"])
def test_min_mass_leaves_unread_what_has_less(asia, cases, store, answers):
    reps = None if answers == "exact" else 1
    design = Design(answers=answers, reps=reps, min_mass=0.5)
    runs, tally = elicit(Known(0.3), asia, cases, store, design=design)
    assert tally.readable == 0
    assert runs["p"].isna().all()
    assert (runs["status"] == "unparsed").all()
    np.testing.assert_allclose(tally.masses, 0.3)


class Masking:
    """Masks its tokens, and has no probabilities."""

    name, fingerprint = "masking", "m"

    constrains_tokens = True

    def generate(self, requests):
        return [Answer(self.answer(request.form)) for request in requests]

    def answer(self, form):
        texts = {"lines": "No: 0.3\nYes: 0.7", "decision": "Can decide: Yes\nDecision: No"}
        other = "\n".join(f"{label}: 0.5" for label in form.labels)
        return texts[form.kind] if form.labels in ((), ("No", "Yes")) else other


def test_a_model_that_masks_is_named_as_such(asia, cases, store):
    design = Design(answers="forced", reps=2, temperature=0.5)
    runs, tally = elicit(Masking(), asia, cases, store, design=design)
    assert (runs["belief_kind"] == "stated:masked").all()
    validate_runs(runs)
    assert (runs["p"] == 0.7).all()
    assert runs["answer_mass"].isna().all()
    assert tally.masses == ()
    for model, options, message in (
        (Masking(), {"answers": "exact"}, "exact answers need a model"),
        (Known(), {"answers": "forced", "temperature": 0.5}, "at temperature 1, at which their"),
    ):
        with pytest.raises(InputError, match=message):
            elicit(model, asia, cases, store, design=Design(**options))
