import numpy as np
import pytest

from coherence import InputError
from elicitation import ladder_questions
from elicitation.batteries.bets.items import default_items

ITEMS = default_items()


def test_ladder_stakes_break_even_where_they_say():
    steps = ladder_questions(ITEMS, chances=(0.2, 0.5), break_evens=(0.25, 0.6))
    assert len(steps) == 2 * 2 * 5 * 2
    gain = steps["break_even"] * steps["high_value"] - (1 - steps["break_even"]) * steps["stake"]
    np.testing.assert_allclose(gain, 0, atol=1e-9)
    np.testing.assert_allclose(sorted(steps["break_even"].unique()), [0.25, 0.6], atol=1e-4)
    # No two pairs share a thing.
    assert (
        steps.groupby("high")["low"].nunique().tolist()
        == steps.groupby("low")["high"].nunique().tolist()
        == [1] * 5
    )
    row = steps.iloc[0]
    assert row["text"] == (
        "A coin is tossed. It lands on heads in 20% of all tosses. If it lands on heads, I win a "
        "car worth 100 dollars; if it lands on tails, "
        "I lose a pen worth 1 dollar. A bet costs a stake of 33.33 dollars; it comes back if I bet "
        "on the right side. "
        "What gives me the best expected gain?"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ladder_questions(ITEMS, break_evens=(0.0,)),
            "break_evens must lie strictly between 0 and 1",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
