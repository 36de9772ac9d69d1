import logging

import pandas as pd
import pytest

from bayesnets import coverage, load_network, sample_cases
from coherence import InputError

ASIA = load_network("asia")


def test_bins_are_even_where_the_network_can_fill_them(cases):
    table = coverage(cases)
    assert table["n"].sum() == 200
    assert (table["n"] <= table["capacity"]).all()
    assert (
        table["n"].tolist()
        == cases["probability_bin"].value_counts().reindex(range(20), fill_value=0).tolist()
    )
    below = table.loc[table["n"] < table["capacity"], "n"]
    assert below.max() - below.min() <= 1
    assert table.loc[table["capacity"] == 0, "bin"].tolist() == [19]
    # Every undetermined evidence set of one to six covariates.
    assert table["capacity"].sum() == 1182
    assert table["natural_share"].sum() == pytest.approx(1)


def test_bins_that_cannot_be_filled_are_named_with_what_the_network_reaches(caplog):
    with caplog.at_level(logging.WARNING, logger="bayesnets.cases.network_cases"):
        cases = sample_cases(ASIA, "lung", 200, rng=11)
    note = cases.attrs["coverage"]["note"]
    assert caplog.messages == [note]
    table = coverage(cases)
    assert table.loc[table["capacity"] < 10, "capacity"].tolist() == [5, 5, 6, 7, 3, 0]
    assert note == (
        "200 cases cannot be spread evenly over p(lung=yes) in network 'asia': fewer than 10 sets "
        "of evidence have a posterior in 0.25 to 0.3 (5), 0.3 to 0.35 (5), 0.35 to 0.4 (6), "
        "0.7 to 0.75 (7), 0.75 to 0.8 (3), 0.95 to 1 (0). The other bins take more; all 1182 "
        "found lie between 7.09e-05 and 0.938."
    )


def test_nothing_is_said_of_cases_that_are_even(caplog, random_network):
    with caplog.at_level(logging.WARNING, logger="bayesnets.cases.network_cases"):
        assert sample_cases(ASIA, "lung", 20, n_bins=4, rng=1).attrs["coverage"]["note"] == ""
        assert sample_cases(ASIA, "lung", 20, even=False, rng=1).attrs["coverage"]["note"] == ""
        # Twelve cases leave most of 20 bins empty whatever the network has.
        assert sample_cases(ASIA, "lung", 12, rng=1).attrs["coverage"]["note"] == ""
    assert caplog.messages == []


def test_coverage_needs_the_table_as_it_was_returned(cases):
    with pytest.raises(InputError, match="has lost"):
        coverage(pd.DataFrame(cases.to_dict()))
