from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coherence.errors import InputError, SchemaError
from coherence.table.incoming import Reading, as_runs, restore_whole_labels

SOURCE = Path("mine.csv")


def test_columns_are_renamed_and_an_old_bearer_of_the_name_steps_aside():
    table = pd.DataFrame({"conf": [70, 20], "p": ["x", "y"], "theta": [1, 0], "note": ["", ""]})
    reading = Reading({"p": "conf"}, percent=True, ignore=["note"])
    assert as_runs(table, reading, SOURCE).to_dict("list") == {
        "p": [0.7, 0.2],
        "unmapped_p": ["x", "y"],
        "theta": [1, 0],
    }
    assert (reading.name_in_file("p"), reading.name_in_file("theta")) == ("conf", "theta")


def test_faults_name_the_file_and_the_part():
    table = pd.DataFrame({"p": [3.0], "theta": [1]})
    with pytest.raises(SchemaError, match="mine.csv, task 'a' has 1 fault"):
        as_runs(table, Reading(), SOURCE, where="task 'a'")
    with pytest.raises(InputError, match="there is no column 'conf' to use as 'p'"):
        as_runs(table, Reading({"p": "conf"}), SOURCE)
    with pytest.raises(InputError, match="columns must map"):
        Reading(["p"])


def test_a_missing_value_makes_no_label_a_fraction():
    table = restore_whole_labels(pd.DataFrame({"theta": [1.0, np.nan], "p": [1.0, 0.0]}))
    assert table["theta"].tolist() == [1, pd.NA]
    assert table["p"].dtype == np.float64
