"""Bounds on labels: breaks if a label outside the list gets a zero, or a longer word counts."""

import numpy as np
import pytest

from coherence import InputError
from elicitation import AnswerForm

from .hosted.fake_server import Fake, answer, connected, listing


@pytest.fixture(scope="module")
def bounds_of():
    """Return what a server's list of likely tokens says of labels."""
    listed = {"Yes": 0.5}
    fake = Fake(lambda body, n: listing(listed) if body.get("logprobs") else answer("Yes"))

    def bounds(likely, labels=("No", "Yes")):
        listed.clear()
        listed.update(likely)
        ((_, bounded),) = model.distributions([("Does it?", AnswerForm("labels", labels))])
        return bounded

    with connected(fake) as model:
        yield bounds


# Spelt in ways of tokenizers, with what ends it, with what goes on to another word or to a label.
SPELT = {"\u0120Yes": 0.1, "\u2581Yes": 0.1, "Yes.": 0.1, "YES": 0.1, "Yesterday": 0.2}


def test_shares_of_one_label_by_hand(bounds_of):
    unseen = bounds_of({"The": 0.5, "A": 0.2})
    assert (unseen.lower, unseen.share("Yes")) == ((0.0, 0.0), (0.0, 1.0))
    # What is left over can go to one other label, not to each of them.
    assert bounds_of({"Yes": 0.5}, ("No", "Yes", "Maybe")).share("Yes") == pytest.approx((0.5, 1.0))
    assert bounds_of({**SPELT, "Y": 0.2, "": 0.1}).lower[1] == pytest.approx(0.4)
    with pytest.raises(InputError, match="label must be one of No, Yes"):
        unseen.share("Maybe")
    for labels in (("Yes",), ("", "No"), ("No ", "Yes"), ("No", "Not sure"), ("No", "No"), "Aa"):
        with pytest.raises(InputError, match="labels must"):
            bounds_of({"The": 0.5}, tuple(labels))


def test_the_true_share_lies_within_its_bounds_however_short_the_list(bounds_of):
    rng = np.random.default_rng(0)
    tokens = ["Yes", " Yes", "No", "The", "Y", "Nope", "Perhaps", "N"]
    for _ in range(40):
        p = rng.dirichlet(np.full(len(tokens), 0.4))
        # "Y" and "N" go on to a label or to something else.
        goes_on = rng.random(2)
        yes, no = p[0] + p[1] + goes_on[0] * p[4], p[2] + goes_on[1] * p[7]
        order = np.argsort(-p)[: rng.integers(1, len(tokens) + 1)]
        bounds = bounds_of({tokens[i]: float(p[i]) for i in order})
        low, high = bounds.share("Yes")
        assert low - 1e-9 <= yes / (yes + no) <= high + 1e-9
        assert bounds.lower[1] - 1e-9 <= yes <= bounds.upper[1] + 1e-9
