"""How answers are analysed. Breaks if a mistake is told only when all was asked and paid for."""

import inspect

import pytest

from coherence import analyze
from elicitation.commands.study.study_file import ANALYSIS, analysis_faults


def test_keys_are_options_of_the_analysis():
    options = set(inspect.signature(analyze).parameters)
    assert set(ANALYSIS) - {"seed"} <= options


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"checks": ["calibratoin"]}, "found: 'calibration'"),
        ({"checks": []}, "checks must name at least one check"),
        ({"seed": -1}, "seed must be at least 0; received -1"),
        ({"twins": 0}, "twins must be at least 1; received 0"),
        ({"published": 1}, "published must be true or false; received 1"),
        ({"positive": 3}, "positive must be a text or a list; received 3"),
        ({"check": "cmi"}, "check is unknown"),
    ],
)
def test_mistakes_are_told(table, told):
    (fault,) = analysis_faults(table)
    assert told in fault


def test_what_is_right_is_no_fault():
    right = {"checks": ["cmi"], "published": True, "positive": "yes", "seed": 3, "twins": 50}
    assert analysis_faults(right) == []
