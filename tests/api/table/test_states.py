"""Labels of the state: which two are understood, and what a user's word means."""

import pytest

from coherence import InputError
from coherence.table.states import folded, known_pair, meant_by, named_state, zero_or_one


@pytest.mark.parametrize(
    ("labels", "pair"),
    [
        (["no", "yes"], ("no", "yes")),
        (["Yes ", "NO"], ("no", "yes")),
        ([True, False], ("false", "true")),
        ([0, 1], ("0", "1")),
        ([1.0], ("0", "1")),
        (["0", 1.0], ("0", "1")),
        (["no", 1], None),  # of two pairs
        (["no", "maybe"], None),
        (["ja", "nein"], None),
        ([2, 10], None),
        ([], None),
    ],
)
def test_three_pairs_are_known_in_any_case(labels, pair):
    assert known_pair(labels) == pair


def test_codes_follow_the_pair_and_not_the_alphabet():
    assert zero_or_one(["Yes", "no"]) == (1, 0)
    assert zero_or_one(["no"]) == (0,)
    assert zero_or_one(["NO", "no", "yes"]) == (0, 0, 1)
    assert zero_or_one(["ja", "nein"]) is None
    assert zero_or_one(["ja"]) is None
    assert zero_or_one(["ja", "nein"], "ja") == (1, 0)
    assert zero_or_one(["no", "yes"], "no") == (1, 0)  # the user's word comes first
    assert zero_or_one(["nein"], "ja") == (0,)  # a model whose readable rows have one state


def test_a_word_means_the_label_that_is_written_like_it():
    assert named_state(["a", "A"], "A") == "A"
    assert named_state([2.0, 10.0], "10") == 10.0
    assert meant_by("YES", ["no", "yes"]) == ["yes"]
    assert folded(" Yes ") == "yes"
    assert folded(1.0) == "1"
    assert folded("11.0") == "11.0"
    with pytest.raises(InputError, match="It may be 'a' or 'A'; write it as it stands there"):
        named_state(["a", "A"], " a ")
    with pytest.raises(InputError, match="positive must be a label of theta; received 'rian'"):
        named_state(["rain", "dry"], "rian", name="theta")
