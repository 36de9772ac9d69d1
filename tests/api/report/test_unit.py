import dataclasses

import pandas as pd
import pytest

from coherence.report.unit import Unit


def test_units_are_equal_by_what_they_say_and_stay_as_they_were_made():
    unit = Unit("asia", "m", (), (), ("a note",))
    # Tables have no truth value when compared; they must not decide whether two units are equal.
    assert unit == Unit("asia", "m", (), (), ("a note",), beliefs=pd.DataFrame({"belief": [0.5]}))
    assert unit != Unit("asia", "m", (), (), ("another",))
    with pytest.raises(dataclasses.FrozenInstanceError):
        unit.notes = ()
    assert unit.statuses is not Unit("asia", "m", (), ()).statuses
