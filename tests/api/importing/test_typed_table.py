import pandas as pd
import pytest

from coherence.importing.typed_table import typed_table


def test_actions_that_were_asked_in_vain_keep_their_column(tmp_path, imported, write_table):
    """Without the column a report would say that nothing was asked."""
    beliefs = write_table(tmp_path / "beliefs.csv", "context,p,theta\na,0.2,0\nb,0.8,\n")
    actions = write_table(tmp_path / "actions.csv", "context,action\na,\nb,\n")
    runs = imported(beliefs, actions, belief=["beliefs"]).runs
    assert runs["action"].isna().all()
    assert runs["status"].tolist() == ["unparsed", "unparsed"]
    nobody_knows = write_table(tmp_path / "open.csv", "context,p,theta\na,0.2,\nb,0.8,\n")
    assert list(imported(nobody_knows).runs.columns) == ["context", "rep", "p", "status"]


@pytest.mark.parametrize(
    ("column", "values", "dtype", "expected"),
    [
        ("x_age", ["7", "007", None], "Int64", [7, 7, None]),
        ("x_age", ["7", "7.5", ""], "float64", [7.0, 7.5, None]),
        ("x_age", ["7", "old"], "string", ["7", "old"]),
        ("x_age", ["9" * 19], "float64", [1e19]),
        ("x_age", [2**63, 1], "float64", [2.0**63, 1.0]),
        ("x_flag", [True, False], "string", ["True", "False"]),
        ("context", ["7", "007"], "string", ["7", "007"]),
        ("context", [7, 8], "Int64", [7, 8]),
        ("seed", ["-3"], "Int64", [-3]),
        ("rep", [0, 1.0], "string", ["0", "1.0"]),
        ("theta", ["yes", "No", None], "Int64", [1, 0, None]),
        ("answer_mass", [1, None], "float64", [1.0, None]),
        ("raw_belief", ["half \ud800"], "string", ["half \ufffd\ufffd\ufffd"]),
    ],
)
def test_a_column_has_the_narrowest_type_that_holds_all_of_it(column, values, dtype, expected):
    runs = typed_table({column: values, "status": ["ok"] * len(values)}, None)
    assert str(runs[column].dtype) == dtype
    assert [None if pd.isna(value) else value for value in runs[column]] == expected
