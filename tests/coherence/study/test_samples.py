import numpy as np
import pytest

from coherence.inputs import as_actions
from coherence.statistics.choices import as_choices
from coherence.study.samples import Sample, as_policies, chosen


def sample(action, *, truth=(0, 1, 1, 0)):
    belief = np.array([0.1, 0.2, 0.6, 0.7, 0.8, 0.8, 0.3, 0.4])
    return Sample(belief, action, np.array(truth), 2)


@pytest.mark.parametrize("truth", [(0, 1, 1, 0), (1, 1, 1, 1), (0, 0, 0, 0)])
@pytest.mark.parametrize(
    "action",
    [
        chosen(np.array([2, 0, 0, 2, 2, 0, 0, 0]), ("defer", "no", "yes")),
        as_policies(np.tile([[0.5, 0.0, 0.5], [0.2, 0.0, 0.8]], (4, 1)), ("defer", "no", "yes")),
        as_policies(np.eye(3)[[2, 0, 0, 2, 2, 0, 0, 0]], ("defer", "no", "yes")),
    ],
)
def test_choices_are_those_of_the_validator(action, truth):
    """The short cut past validation must not number actions, states or contexts otherwise."""
    ours = sample(action, truth=truth)
    theirs = as_choices(
        ours.belief, ours.actions, ours.truth[ours.context], ours.context, oriented=True
    )
    for name in ("belief", "action", "truth", "context", "share"):
        np.testing.assert_array_equal(getattr(ours.choices, name), getattr(theirs, name))
    assert ours.choices.actions == theirs.actions
    assert ours.choices.states == theirs.states
    assert (ours.choices.policy is None) == (theirs.policy is None)
    assert ours.choices.degenerate == theirs.degenerate


def test_labels_that_nobody_chose_are_left_out():
    action = chosen(np.array([2, 2, 0]), ("a", "b", "c"))
    assert action.labels == ("a", "c")
    assert action.codes.tolist() == [1, 1, 0]


def test_policies_are_read_as_the_checks_read_them():
    shares = np.array([[0.25, 0.0, 0.75], [1.0, 0.0, 0.0]])
    ours, theirs = as_policies(shares, ("a", "b", "c")), as_actions(shares, 2)
    np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)
    assert ours.labels == ("a", "c")
    settled = as_policies(np.array([[0.0, 1.0], [1.0, 0.0]]), ("a", "b"))
    assert settled.probabilities is None
    assert settled.codes.tolist() == [1, 0]
