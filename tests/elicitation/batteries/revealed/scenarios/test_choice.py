import pytest

from coherence import InputError
from elicitation.batteries.revealed.scenarios import choice


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: choice.single(1), "from 2 to 26"),
        (lambda: choice.repeated(2, "C"), "one of A, B"),
    ],
)
def test_impossible_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()


def test_an_earlier_draw_changes_the_text_and_not_the_truth():
    alone, after = choice.single(3), choice.repeated(3, "B")
    assert alone.truth == after.truth
    assert after.baseline == alone.name
    assert all("B" in text for text in after.texts.values())
    assert not set(alone.texts.values()) & set(after.texts.values())
