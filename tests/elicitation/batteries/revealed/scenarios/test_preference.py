import pytest

from coherence import InputError
from elicitation.batteries.revealed.scenarios import preference


def test_texts_name_the_first_label_first_and_the_favoured_one_as_favoured():
    swapped = preference.single("Left", "Right", bias=2, favoured_first=False)
    assert all(
        text.index("Right") < text.index("Left") and "Left is 2 times as likely" in text
        for text in swapped.texts.values()
    )


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: preference.single("Left", "left side"), "none begins with the other"),
        (lambda: preference.single("Left", "Right", bias=0), "bias must be at least 1"),
        (lambda: preference.repeated("Left", "Right", "Up"), "must be 'Left' or 'Right'"),
    ],
)
def test_impossible_settings_are_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()
