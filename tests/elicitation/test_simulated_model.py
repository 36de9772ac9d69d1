"""Agents that answer in words.

Breaks if an answer depends on its neighbours, or if a session does not find what was planted.
"""

import numpy as np
import pandas as pd
import pytest

from coherence import AGENTS, InputError
from coherence.runs.read import validate_runs
from elicitation import AnswerStore, Design, Request, agent_for_task, elicit, plan_task


@pytest.fixture(scope="module")
def many(asia):
    return asia.cases(40, seed=3)


def texts(asia, cases, role="decision"):
    return [
        question.text
        for question in plan_task(asia, cases, Design(reps=1)).questions
        if question.spec.role == role
    ]


def session(agent, asia, cases, **options):
    model, design = agent_for_task(agent, asia, cases), Design(**{"reps": 4, **options})
    with AnswerStore(":memory:") as store:
        runs, tally = elicit(model, asia, cases, store, design=design)
    validate_runs(runs)
    assert tally.readable == tally.total
    return runs


def test_a_request_has_one_answer_whatever_the_order(asia, many):
    model = agent_for_task("noisy", asia, many)
    requests = [
        Request(text, seed, 60)
        for role in ("belief", "decision", "auxiliary")
        for text in texts(asia, many, role)
        for seed in (0, 1, 2**63 - 1)
    ]
    answers = model.generate(requests)
    assert len({answer.text for answer in answers}) > 20
    order = np.random.default_rng(0).permutation(len(requests))
    shuffled = agent_for_task("noisy", asia, many).generate([requests[i] for i in order])
    assert [shuffled[position] for position in np.argsort(order)] == answers
    assert [model.generate([request])[0] for request in requests[:10]] == answers[:10]


BIASED = AGENTS["noisy"].with_parameters(prompt_shift=0.1)


@pytest.mark.parametrize(
    "agent", [BIASED, *(pytest.param(name, marks=pytest.mark.lengthy) for name in AGENTS)]
)
def test_exact_answers_of_an_agent_are_what_its_draws_come_to(asia, many, agent):
    few, n = many.head(4), 100
    exact = session(agent, asia, few, answers="exact", reps=1)
    drawn = session(agent, asia, few, reps=n)
    keys = ["context", "prompt", "z_state"]
    exact, drawn = (runs.fillna({"z_state": "none"}) for runs in (exact, drawn))
    means = drawn.groupby(keys)["p"].mean()
    expected = exact.groupby(keys)[["p", "p_sd"]].first()
    # Four standard errors of a mean; exactly equal where nothing is random.
    limit = 4.5 * expected["p_sd"] / np.sqrt(n) + 1e-9
    gap = (means.reindex(expected.index) - expected["p"]).abs()
    assert (gap.to_numpy() <= limit.to_numpy()).all()
    acted = drawn[drawn["action"].notna()]
    rates = pd.crosstab(acted["context"], acted["action"], normalize="index")
    shares = exact.dropna(subset=["action_yes"]).set_index("context")
    for action in ("yes", "no", "defer"):
        share = shares[f"action_{action}"]
        rate = rates.get(action, 0 * share).reindex(share.index)
        limit = 4.5 * np.sqrt(share * (1 - share) / n) + 1e-9
        assert ((rate - share).abs().to_numpy() <= limit.to_numpy()).all()


def test_noisy_reports_on_no_grid_cannot_be_listed(asia, many):
    agent = AGENTS["noisy"].with_parameters(grid=0.0)
    with pytest.raises(InputError, match="noisy reports on no grid"):
        session(agent, asia, many.head(2), answers="exact", reps=1)


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_what_was_planted_is_found(asia, many, name):
    agent, runs = AGENTS[name], session(name, asia, many)
    plain = runs[runs["z"].isna()]
    standard, bayes = (
        plain[plain["prompt"] == prompt].set_index(["context", "rep"])["p"]
        for prompt in ("standard", "bayes")
    )
    shift = (bayes - standard).mean()
    assert (shift > 0.05) == (agent.prompt_shift > 0)
    assert (standard.groupby("context").std().mean() > 0.02) == (agent.report_noise > 0)
    # Given z, a biased agent is nearer to one half than the truth.
    conditional = runs[runs["z"].notna()].dropna(subset=["p_true"])
    drawn_in = (abs(conditional["p_true"] - 0.5) - abs(conditional["p"] - 0.5)).mean()
    assert agent.iterated_bias == 0 or drawn_in > 0.05
    if agent.belief_slope != 1:
        assert abs(plain["p"] - plain["p_true"]).mean() > 0.05


def test_temperature_zero_silences_the_noise(asia, many):
    noisy = agent_for_task(AGENTS["noisy"].with_parameters(taste=0.0), asia, many)
    for role in ("belief", "decision"):
        for text in texts(asia, many, role)[:5]:
            answers = noisy.generate([Request(text, seed, 60, 0.0) for seed in range(5)])
            assert len({answer.text for answer in answers}) == 1
    text = texts(asia, many, "belief")[0]
    rounded = np.round(many["p_true"].iloc[0] * 20) / 20
    assert noisy.generate([Request(text, 0, 60, 0.0)])[0].text.endswith(f"Yes: {rounded:.2f}")


def test_answers_are_cut_at_their_limit(asia, many):
    model = agent_for_task("rational", asia, many)
    (answer,) = model.generate([Request(texts(asia, many)[0], 0, 5)])
    assert (answer.text, answer.n_tokens, answer.logprob) == ("Can d", 5, None)


def test_the_fingerprint_follows_all_that_shapes_an_answer(asia, many):
    first = agent_for_task("rational", asia, many).fingerprint
    assert first == agent_for_task(AGENTS["rational"], asia, many).fingerprint
    others = [
        agent_for_task("leaky", asia, many),
        agent_for_task(AGENTS["rational"].with_parameters(slope=5.0), asia, many),
        agent_for_task("rational", asia, many.assign(theta=1 - many["theta"])),
        agent_for_task("rational", asia, many.head(20)),
    ]
    assert len({first, *(other.fingerprint for other in others)}) == 5
    # Answers of stores that exist are not asked again.
    agent = agent_for_task("rational", asia, asia.cases(12, seed=0))
    assert agent.fingerprint == "9aea059cced3b137a7ff1b958fdf7e09c953598ee9135d08964ae7956d78b400"
