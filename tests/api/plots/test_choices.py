"""What figures of beliefs draw. Breaks if they draw other rows than checks read."""

import pandas as pd
import pytest

import coherence
from coherence import InputError
from coherence.plots import plot_beliefs
from coherence.plots.choices import choices_of
from coherence.statistics.figure_tables import figure_tables


@pytest.mark.parametrize("agent", ["leaky", "wordbound"])
def test_a_runs_table_gives_the_rows_of_its_report(agent):
    runs = coherence.simulate(agent, n_contexts=40, n_reps=3, rng=1)
    runs.loc[runs.index[3], ["p", "status"]] = [None, "refused"]
    report = coherence.analyze(runs, checks=["calibration"], rng=1)
    of_report, of_runs = report.evaluations[0].figures, figure_tables(choices_of(runs))
    assert set(of_report.tables) == set(of_runs.tables)
    for name, table in of_report.tables.items():
        pd.testing.assert_frame_equal(table, of_runs.tables[name])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((pd.DataFrame({"p_no": [0.1], "p_yes": [0.9]}),), "runs must have a column p"),
        ((pd.DataFrame({"p": [0.1, 0.2], "model": ["a", "b"]}),), "received 2 values of 'model'"),
        ((pd.DataFrame({"p": [0.1]}), ["yes"]), "action must be left out beside a table"),
        (([0.1, 0.2], ["yes"]), "one value per row of belief; received 1"),
        (([10, 20],), "Divide percentages by 100"),
        (("abc",), "belief must hold numbers"),
    ],
)
def test_what_cannot_be_read_is_said(arguments, said):
    with pytest.raises(InputError, match=said):
        plot_beliefs(*arguments)
