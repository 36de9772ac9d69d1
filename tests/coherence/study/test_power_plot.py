import re

import pytest

from coherence.study.power_plot import render_power
from tests.coherence.tables import make_power

SETTINGS = {"alpha": 0.05, "target": None, "population": "agent a", "planted": "hidden_signal"}


@pytest.mark.parametrize("n_checks", [1, 2, 4, 7])
def test_a_panel_for_each_result_and_equal_bytes(n_checks):
    checks = tuple(f"check_{number}" for number in range(n_checks))
    rows = make_power(checks, reps=(1, 5))
    svg = render_power(rows, SETTINGS)
    assert svg == render_power(rows, SETTINGS)
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert [text for text in texts if text.startswith("check_")] == list(checks)
    assert "signal 0.2, 5 repetitions" in texts
    assert "agent a, hidden_signal planted" in texts


def test_names_from_files_are_no_mathematics_and_no_commands():
    rows = make_power(("monotone_choice:$x$/\x1b[31my",))
    svg = render_power(rows, SETTINGS | {"population": "an agent like $m_1$"})
    assert "monotone_choice:$x$/y" in svg
    assert "an agent like $m_1$" in svg
