"""Beliefs read off: breaks if one leaves its bounds, or is read where its labels have no mass."""

import json

import pytest

from coherence import CoherenceError
from elicitation.answers.distributions import ask_labels
from elicitation.answers.reading import Reading, sampled_belief, token_belief
from elicitation.models.labels import bound_labels


class Known:
    """A model whose probabilities of No and Yes are stated."""

    name, fingerprint = "known", "f"

    def __init__(self, masses):
        self.masses = masses

    def generate(self, requests):
        raise NotImplementedError

    def label_probabilities(self, texts, labels):
        return [tuple(self.masses[label] for label in labels)] * len(texts)


class Listed(Known):
    """A model that lists likely tokens alone."""

    def label_bounds(self, texts, labels):
        return [bound_labels(self.masses, labels)] * len(texts)


def test_probabilities_are_kept_with_every_digit_in_the_order_of_the_labels():
    (answer,) = ask_labels(Known({"No": 0.1 + 0.2, "Yes": 1 / 3}), ["Does it?"])
    assert answer.text == '{"No": 0.30000000000000004, "Yes": 0.3333333333333333}'
    (turned,) = ask_labels(Known({"No": 0.25, "Yes": 0.5}), ["Does it?"], ("Yes", "No"))
    assert turned.text == '{"Yes": 0.5, "No": 0.25}'


def test_bounds_come_before_probabilities_and_are_kept_with_the_share_of_the_last_label():
    (answer,) = ask_labels(Listed({"No": 0.25, "Yes": 0.5}), ["Does it?"])
    masses = json.loads(answer.text)
    assert (masses["No"], masses["Yes"]) == (0.25, 0.5)
    assert masses["share"] == pytest.approx([0.5, 0.75])  # a quarter was not listed


def test_what_cannot_be_probabilities_is_refused():
    for masses in ({"No": -0.1, "Yes": 0.5}, {"No": 0.7, "Yes": 0.7}, {"No": 1.1, "Yes": 0.0}):
        with pytest.raises(CoherenceError, match="model known gave .* which they cannot be"):
            ask_labels(Known(masses), ["Does it?"])
    assert len(ask_labels(Known({"No": 0.5, "Yes": 0.5 + 1e-9}), ["Does it?"])) == 1  # rounding


@pytest.mark.parametrize(
    ("masses", "value", "status"),
    [
        ({"No": 0.1, "Yes": 0.3}, 0.75, "low_mass"),
        ({"No": 0.0, "Yes": 0.0}, None, "unparsed"),
        ({"No": 0.5, "Yes": 0.5}, 0.5, "ok"),
        ({"No": 0.0, "Yes": 1.0}, 1.0, "ok"),
        # Bounds up to two hundredths apart are read, in their middle, and no wider ones.
        ({"No": 0.4, "Yes": 0.5, "share": [0.55, 0.55]}, 0.55, "ok"),
        ({"No": 0.4, "Yes": 0.5, "share": [0.5, 0.519]}, 0.5095, "ok"),
        ({"No": 0.4, "Yes": 0.5, "share": [0.5, 0.521]}, None, "unparsed"),
        ({"No": 0.2, "Yes": 0.6, "share": [0.6, 0.8]}, None, "unparsed"),
    ],
)
def test_a_token_belief_says_where_it_has_little_mass_and_needs_narrow_bounds(
    masses, value, status
):
    belief = token_belief(json.dumps(masses))
    assert belief.value == (None if value is None else pytest.approx(value))
    assert (belief.status, belief.answer_mass) == (
        status,
        pytest.approx(masses["No"] + masses["Yes"]),
    )


def test_a_rate_counts_readable_draws_alone_and_names_the_gravest_repair():
    draws = [Reading("Yes", "ok"), Reading("No", "repaired:spelling"), Reading(None, "refused")]
    belief = sampled_belief(draws)
    assert (belief.value, belief.status) == (0.5, "repaired:spelling")
    assert belief.answer_mass == pytest.approx(2 / 3)
    lost = sampled_belief([*draws, Reading(None, "refused"), Reading(None, "truncated")])
    assert (lost.value, lost.status, lost.answer_mass) == (None, "refused", 0.4)
