import pandas as pd
import pytest

import coherence
from coherence.table.reading_notes import reading_notes, with_reading_notes


def test_notes_add_up_and_foreign_attributes_are_no_notes():
    runs = pd.DataFrame({"p": [0.5]})
    assert reading_notes(runs) == []
    assert reading_notes(with_reading_notes(with_reading_notes(runs, ["a."]), ["b."])) == [
        "a.",
        "b.",
    ]
    assert reading_notes(with_reading_notes(pd.DataFrame(), [])) == []
    for foreign in ("text", 3, {"a": 1}):
        runs.attrs = {"notes_of_reading": foreign}
        assert reading_notes(runs) == []


@pytest.mark.lengthy
def test_what_was_assumed_in_reading_stands_in_every_face_of_the_report(tmp_path):
    path = tmp_path / "mine.csv"
    rows = "".join(f"{at},{20 + at},{'yes' if at % 2 else 'no'},{at % 2}\n" for at in range(30))
    path.write_text(f"context,p,action,theta\n{rows}90,0.7,YES,1\n")
    runs = coherence.read_runs(path, percent=True, merge_labels=True)
    report = coherence.analyze(runs, checks=["residual_covariance"], rng=1)
    for said in ("is below 1 and was taken as a percentage: 0.7 as 0.7%.", "were merged"):
        assert said in " ".join(report.units[0].notes)
        assert said in report.to_html()
        assert said in report.to_json()
        assert said in " ".join(str(report).split())
