import json
import subprocess
import sys

import pytest


def test_one_row_per_unit_and_check_with_the_settings_as_json(report):
    table = report.results
    assert len(table) == 7
    assert table["model"].tolist() == ["small-lm"] * 5 + ["large-lm"] * 2
    assert json.loads(table["settings"].iloc[0]) == {"k": 3, "n_permutations": "999"}
    assert table["verdict"].tolist()[:5] == list(report.evaluations[0].verdicts)
    assert table["pvalue"].tolist()[:2] == [0.004, 0.31]


@pytest.mark.lengthy
def test_a_report_loads_no_renderer_before_it_is_asked():
    code = (
        "import sys, coherence.report.report; "
        "assert not {'matplotlib', 'rich', 'jinja2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
