"""The columns of the runs table as data."""

from coherence.table.schema import (
    COLUMN_NAMES,
    COLUMNS,
    KEY,
    PARSED,
    PROBABILITIES,
    REPAIRS,
    STATUSES,
)


def test_columns_are_named_once_and_the_key_is_of_them():
    assert len(set(COLUMN_NAMES)) == len(COLUMNS)
    assert set(KEY) <= set(COLUMN_NAMES)
    spread = ("p_sd", "p_q05", "p_q95")
    assert ("p", *spread, "p_true", "p_z", "p_z_true", "answer_mass") == PROBABILITIES
    assert all(column.meaning.endswith(".") for column in COLUMNS)


def test_statuses_go_from_the_mildest_to_the_gravest():
    assert STATUSES[0] == "ok"
    assert STATUSES[-1] == "refused"
    assert [*PARSED] == ["ok", *REPAIRS, "low_mass"]
    assert len(set(STATUSES)) == len(STATUSES)
