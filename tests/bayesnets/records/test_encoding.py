import pytest

from bayesnets import strata
from coherence import InputError


def test_missing_values_are_an_error_or_dropped(records):
    holes = records.astype(object)
    holes.loc[[5, 9], "smoke"] = None
    holes.loc[7, "tub"] = None
    with pytest.raises(
        InputError,
        match=r"2 rows of 4000 have missing values, the first at index 5, 9, in 'smoke' \(2 rows\)",
    ):
        strata(holes, ["smoke"], "either", positive="yes")
    # A hole in a column that is not used costs nothing.
    assert strata(holes, ["smoke"], "either", positive="yes", missing="drop")["n"].sum() == 3998


def test_wrong_records_are_named(records):
    with pytest.raises(
        InputError, match=r"'age' of records must hold labels .* the first is 41 \(int\)"
    ):
        strata(records.assign(age=41), ["age"], "either", positive="yes")
    with pytest.raises(InputError, match=r"the largest holds 1 of 1 records, fewer than 100"):
        strata(records.head(1), ["smoke"], "either", positive=records["either"].iloc[0])
    with pytest.raises(
        InputError,
        match=r"with 2 or more observed covariates the largest holds (\d+) of 150 records",
    ) as caught:
        strata(records.head(150), ["smoke", "bronc"], "either", positive="no", n_observed=2)
    assert f"holds {records.head(150).groupby(['smoke', 'bronc']).size().max()} of" in str(
        caught.value
    )
    with pytest.raises(
        InputError, match="column 'smoke' of records must hold a label; all 4000 values are missing"
    ):
        strata(records.assign(smoke=None), ["smoke"], "either", positive="yes")
