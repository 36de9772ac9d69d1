"""The curve of choices. Breaks if it is another action's, or a threshold stands elsewhere."""

import numpy as np
import pytest

import coherence
from coherence import InputError
from coherence.plots import plot_choice_curve


@pytest.fixture(scope="module")
def agent():
    runs = coherence.simulate("rational", n_contexts=150, n_reps=3, rng=1)
    rows = runs[runs["action"].notna()]
    return coherence.fit_rational_agent(
        rows["p"], rows["action"], rows["theta"], context=rows["context"]
    )


def test_curves_and_thresholds_are_those_of_the_agent(agent, ax, drawn):
    plot_choice_curve(agent, ax=ax)
    lines = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    curve = agent.choice_curve
    assert list(lines) == ["defer", "no", "yes"]
    for action, line in lines.items():
        of_action = curve[curve["action"] == action]
        np.testing.assert_array_equal(line.get_xydata(), of_action[["belief", "probability"]])
    upright = [line.get_xdata()[0] for line in drawn(ax, "threshold")]
    assert upright == agent.thresholds["belief"].tolist()
    assert len({str(line.get_linestyle()) for line in lines.values()}) > 1


def test_what_is_no_agent_is_refused():
    with pytest.raises(InputError, match="fit_rational_agent returns; received str"):
        plot_choice_curve("rational")
