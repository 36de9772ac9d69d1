import pytest

from coherence import InputError
from elicitation.batteries.revealed.scenarios import coins


def test_texts_say_which_face_a_bias_favours():
    assert "heads as on tails" in coins.single(2, "heads", 3).texts["standard"]
    assert "tails as on heads" in coins.single(2, "tails", 3).texts["story"]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: coins.single(1, "heads", 1), "coins must be at least 2"),
        (lambda: coins.single(2, "edge", 1), "heads or tails"),
        (lambda: coins.repeated(2, "heads", 1, [3], dependent=True), "counts from 0 to 2"),
    ],
)
def test_impossible_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()
