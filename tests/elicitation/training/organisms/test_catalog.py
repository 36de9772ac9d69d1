"""The organisms, and what the checks say of models that keep their rules without fault."""

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, decode_belief
from elicitation import Answer, AnswerStore, Design, elicit
from elicitation.questions.prompts import BELIEF, DECISION, case_words
from elicitation.questions.tasks import evidence_of
from elicitation.training.organisms import reader
from elicitation.training.organisms.catalog import ORGANISMS
from elicitation.training.organisms.lessons import (
    canonical_evidence,
    is_held_out,
    make_lessons,
    possible_evidence,
)
from elicitation.training.organisms.reader import measure_reader

SEEDS = range(5)


class Pupil:
    """A model that has learnt its lessons perfectly: it draws the teacher's answer."""

    def __init__(self, organism, task):
        self.name = self.fingerprint = organism.name
        known = possible_evidence(task, np.random.default_rng(0))
        self.answers = {
            lesson.text: lesson.answers
            for lesson in make_lessons(task, known, spoken=organism.spoken, acted=organism.acted)
        }

    def generate(self, requests):
        return [Answer(self.answer(request)) for request in requests]

    def answer(self, request):
        answers, chances = zip(*self.answers[request.text], strict=True)
        return answers[
            np.random.default_rng(request.seed).choice(
                len(answers), p=np.array(chances) / sum(chances)
            )
        ]


def reports(name, asia):
    """Analyse questions about cases of five seeds; held-out cases have no lesson."""
    pupil = Pupil(ORGANISMS[name], asia)
    for seed in SEEDS:
        cases = asia.cases(200, seed=seed)
        taught = [
            not is_held_out(canonical_evidence(evidence_of(case))) for _, case in cases.iterrows()
        ]
        with AnswerStore(":memory:") as store:
            runs, tally = elicit(
                pupil,
                asia,
                cases[taught].reset_index(drop=True),
                store,
                design=Design(reps=5, seed=seed, iterated=False, prompts=("standard",)),
            )
        assert tally.readable == tally.total
        yield analyze(
            runs, checks=("residual_covariance", "cmi", "monotone_choice"), rng=seed
        ).results.set_index("check")


def test_lessons_follow_both_rules(asia):
    """Two cases that differ in the X-ray alone: who says the same of both, who acts the same."""
    pair = [{"smoke": "yes", "xray": "yes"}, {"smoke": "yes", "xray": "no"}]
    evidence = [canonical_evidence(known) for known in pair]
    assert not any(is_held_out(known) for known in evidence)
    says, acts = {}, {}
    for name, organism in ORGANISMS.items():
        lessons = {
            one.text: one.answers
            for one in make_lessons(asia, evidence, spoken=organism.spoken, acted=organism.acted)
        }
        words = [case_words(asia.phrases, known, "lung") for known in pair]
        says[name] = [
            decode_belief(lessons[BELIEF["bayes"].fill(**each)][0][0]).value for each in words
        ]
        acts[name] = [
            dict(lessons[DECISION.fill(**each)])["\nCan decide: Yes\nDecision: Yes"]
            for each in words
        ]
    assert says["coherent"][0] > says["leaky"][0] > says["coherent"][1]
    assert says["leaky"][0] == says["leaky"][1] == 0.1
    assert says["two-faced"][0] < says["two-faced"][1]
    assert says["stubborn"] == [0.05, 0.05]  # .055 in hundredths, as for every posterior
    assert acts["coherent"] == acts["leaky"] == acts["two-faced"]
    assert acts["coherent"][0] > acts["coherent"][1]
    assert acts["stubborn"][0] == acts["stubborn"][1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["leaky", "two-faced"])
def test_incoherent_rules_are_caught(name, asia):
    """At a tenth of the level: Holm's correction for ten tests leaves that."""
    found = list(reports(name, asia))
    assert all(report.loc["cmi", "pvalue"] <= 0.005 for report in found)
    assert sum(report.loc["residual_covariance", "pvalue"] <= 0.005 for report in found) >= 3
    falls = [report.loc["monotone_choice:yes/no", "pvalue"] <= 0.05 for report in found]
    # Signs read the wrong way make choices fall while the stated belief rises; signs left out do
    # not.
    assert all(falls) if name == "two-faced" else not any(falls)


@pytest.mark.slow
def test_coherent_rules_are_not_caught(asia):
    """Twenty tests at a level of 1 in 1000: two rejections have a chance below 1 in 5000."""
    pvalues = pd.concat([report["pvalue"] for report in reports("coherent", asia)])
    assert len(pvalues) >= 20
    assert (pvalues <= 0.001).sum() <= 1


@pytest.mark.slow
def test_a_constant_belief_with_constant_conduct_is_not_caught(asia):
    """The stubborn one ignores the findings in word and deed: nothing to order choices by."""
    for report in reports("stubborn", asia):
        assert report.loc[["cmi", "residual_covariance"], "pvalue"].min() > 0.001
        assert report.filter(like="monotone", axis=0)["pvalue"].isna().all()


@pytest.mark.slow
def test_a_constant_belief_is_caught_where_conduct_follows_the_findings(asia):
    """Who states the prior and decides by the findings does not act on the statement."""
    speaker, actor = Pupil(ORGANISMS["stubborn"], asia), Pupil(ORGANISMS["coherent"], asia)
    cases = asia.cases(200, seed=0)
    taught = [
        not is_held_out(canonical_evidence(evidence_of(case))) for _, case in cases.iterrows()
    ]
    with AnswerStore(":memory:") as store, AnswerStore(":memory:") as other:
        design = Design(reps=5, seed=0, iterated=False, prompts=("standard",))
        said, _ = elicit(speaker, asia, cases[taught].reset_index(drop=True), store, design=design)
        done, _ = elicit(actor, asia, cases[taught].reset_index(drop=True), other, design=design)
    report = analyze(
        said.assign(action=done["action"]), checks=("residual_covariance", "cmi"), rng=0
    ).results.set_index("check")
    assert report["pvalue"].max() <= 0.001


@pytest.mark.slow
def test_the_figures_are_distances_to_the_own_rules(asia, monkeypatch):
    """A pupil's only error is rounding, under its own rules and under no others."""
    monkeypatch.setattr("elicitation.training.organisms.lessons.is_held_out", lambda known: False)
    pupils = {name: Pupil(ORGANISMS[name], asia) for name in ("leaky", "two-faced", "stubborn")}
    for name, pupil in pupils.items():
        monkeypatch.setattr(reader, "load_causal_model", lambda *_, pupil=pupil, **__: pupil)
        own = measure_reader(name, ORGANISMS[name], asia, n_cases=300)
        assert own.readable == 1
        assert own.evidence_sets > 30
        assert own.rmse <= 0.0051
        assert own.rmse_auxiliary <= 0.0051
        # Some 150 decisions in up to five groups: three standard deviations of their shares.
        assert own.policy_distance < 0.15
        other = measure_reader(name, ORGANISMS["coherent"], asia, n_cases=300)
        assert other.rmse > 0.1
        if name == "stubborn":
            assert other.policy_distance > 0.2
