import numpy as np
import pytest

from coherence import AGENTS, InputError, simulate
from coherence.checks.iterated_gaps import gaps_of, mean_over_contexts
from coherence.study.populations import LABELS, PLANTABLE, AgentPopulation


@pytest.mark.parametrize("policies", [False, True])
def test_a_study_is_the_table_that_the_agent_would_give(policies):
    """Same generator, same answers: a plan is about what `coherence simulate` writes."""
    population = AgentPopulation(AGENTS["heaping"], policies=policies)
    drawn = population.draw(0.3, 30, 3, np.random.default_rng(4), wordings=True, iterated=True)
    agent = AGENTS["heaping"].with_parameters(hidden_signal=0.3)
    runs = simulate(agent, n_contexts=30, n_reps=3, policies=policies, rng=4)
    plain = runs[runs["z_state"].isna()]
    rows = plain[plain["prompt"] == "standard"]
    np.testing.assert_array_equal(drawn.belief, rows["p"])
    np.testing.assert_array_equal(drawn.truth[drawn.context], rows["theta"])
    if policies:
        columns = [f"action_{label}" for label in LABELS]
        np.testing.assert_array_equal(drawn.action.probabilities, rows[columns])
    else:
        assert drawn.actions.tolist() == rows["action"].tolist()
    for prompt, stated in drawn.wordings.items():
        np.testing.assert_array_equal(stated, plain.loc[plain["prompt"] == prompt, "p"])
    asked = runs[runs["prompt"] == "standard"]
    gaps = gaps_of(asked, runs.groupby("z")["z_state"].nunique(), computed=False)
    of_context = mean_over_contexts(gaps.rows["gap"], gaps.rows["context"])
    np.testing.assert_allclose(drawn.gaps, of_context, atol=1e-12)


def test_what_is_not_asked_changes_nothing_of_the_choices():
    population = AgentPopulation(AGENTS["noisy"])
    more, less = (
        population.draw(0.2, 20, 2, np.random.default_rng(1), wordings=asked, iterated=asked)
        for asked in (True, False)
    )
    np.testing.assert_array_equal(more.belief, less.belief)
    assert more.actions.tolist() == less.actions.tolist()
    assert less.gaps is None
    assert less.wordings == {}


def test_signals_share_contexts_and_reports():
    population = AgentPopulation(AGENTS["rational"])
    none, some = (
        population.draw(signal, 50, 2, np.random.default_rng(1), wordings=False, iterated=False)
        for signal in (0.0, 0.4)
    )
    np.testing.assert_array_equal(none.truth, some.truth)
    np.testing.assert_array_equal(none.belief, some.belief)
    assert none.actions.tolist() != some.actions.tolist()


def test_only_what_is_nothing_at_0_can_be_planted():
    assert {"hidden_signal", "peak", "iterated_bias"} <= set(PLANTABLE)
    assert not {"slope", "prelec", "taste", "belief_slope"} & set(PLANTABLE)
    with pytest.raises(InputError, match=r"planted must be .* received 'peek'.*'peak'"):
        AgentPopulation(AGENTS["rational"], planted="peek")
