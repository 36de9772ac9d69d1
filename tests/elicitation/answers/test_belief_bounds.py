"""Beliefs with bounds: breaks if one is read whose bounds lie too far apart to say what it is."""

import json

import pytest

from elicitation.answers.beliefs import ReadBelief, token_belief


def bounded(low, high):
    return token_belief(json.dumps({"No": 0.4, "Yes": 0.5, "share": [low, high]}))


@pytest.mark.parametrize("width", [0.0, 0.01, 0.019])
def test_close_bounds_are_read_in_their_middle(width):
    belief = bounded(0.55, 0.55 + width)
    assert belief.status == "ok"
    assert belief.value == pytest.approx(0.55 + width / 2)


@pytest.mark.parametrize("width", [0.021, 0.03, 0.2])
def test_bounds_more_than_two_hundredths_apart_are_unread(width):
    assert bounded(0.55, 0.55 + width) == ReadBelief(None, "unparsed", 0.9)
