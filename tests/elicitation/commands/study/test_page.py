"""The page of a study. Breaks if a name can act on it, or a link leads nowhere."""

import html
import re
from dataclasses import replace

import pytest

from coherence import analyze, simulate
from coherence.result import Outcome
from elicitation.commands.study.page import Compared, render_page
from elicitation.commands.study.study_file import load_study
from elicitation.commands.study.units import Finished, units_of

LINKS = {"report": "report/report.html", "compare": "compare/compare.html", "paper": "p/paper.md"}
DONE = Finished("d", "t", 40, 30, 2, 1, 1_000_000, None)


@pytest.fixture
def study(write):
    return load_study(write())


def page(study, folder, **changed):
    units = units_of(study, folder)
    said = {
        "finished": [(units[0], DONE)],
        "missing": [],
        "conclusions": (),
        "compared": None,
        "batteries": [],
        "links": LINKS,
    }
    return render_page(study, **{**said, **changed})


def test_names_are_text_and_nothing_else(study, tmp_path):
    bad = "<script>alert(1)</script>\x1b[31m"
    runs = simulate("leaky", n_contexts=20, n_reps=2, rng=0).assign(model=bad, task="<b>")
    report = analyze(runs, checks=["residual_covariance"], rng=0)
    text = page(
        replace(study, name=bad),
        tmp_path,
        missing=[bad],
        conclusions=report.units,
        compared=Compared(bad, "<svg onload='x'/>", bad),
        batteries=[(bad, "batteries/x/summary.txt")],
    )
    assert "<script" not in text
    assert "<b>" not in text
    assert "\x1b" not in text
    assert "onload" not in text
    assert text.count("&lt;script&gt;") >= 6
    assert 'src="data:image/svg+xml;base64,' in text


def test_tests_without_a_p_value_are_named_with_their_reason(study, tmp_path):
    runs = simulate("leaky", n_contexts=20, n_reps=2, rng=0)
    runs["p"] = 0.5
    report = analyze(runs[runs["prompt"] == "standard"], rng=0)
    text = page(study, tmp_path, conclusions=report.units)
    (unit,) = report.units
    untested = [each for each in unit.results if each.outcome() is Outcome.UNTESTED]
    assert {each.check for each in untested} >= {"monotone_direction"}
    for each in untested:
        assert f"<li>{each.check}: " in text
        assert each.reason in html.unescape(text)
    assert "prompt consistency was not checked" in text


def test_counts_and_prices_are_those_of_the_unit(study, tmp_path):
    units = units_of(study, tmp_path)
    text = page(study, tmp_path, finished=[(units[2], DONE)])
    cells = re.findall(r"<t[dh][^>]*>(?:<a[^>]*>)?([^<]*)", text.split("<tbody>")[1])
    assert "probability 0.02 (median)" not in text
    assert cells[:7] == ["asia", "steady", "drawn", "40", "75.0%", "2", "1"]
    # A price of answers was said, and they were not counted: no price is made up.
    assert cells[7:10] == ["1,000,000", "not counted", ""]
    counted = page(study, tmp_path, finished=[(units[2], replace(DONE, tokens_out=500_000))])
    assert ">3.00</td>" in counted


def test_what_is_not_there_is_not_linked(study, tmp_path):
    text = page(study, tmp_path, finished=[], links=dict.fromkeys(LINKS, ""))
    assert "href" not in text
    said = page(study, tmp_path, missing=["leaky on asia"], compared=Compared("Not compared."))
    assert "without leaky on asia" in said
    assert "compare.html" not in said
    assert "<img" not in said


@pytest.mark.lengthy
def test_a_form_that_the_model_would_not_keep_to_is_said_beside_what_was_read(study, tmp_path):
    runs = simulate("leaky", n_contexts=20, n_reps=2, rng=0)
    for mass, said in ((0.02, True), (0.9, False)):
        report = analyze(runs.assign(answer_mass=mass), checks=["residual_covariance"], rng=0)
        text = page(study, tmp_path, conclusions=report.units)
        assert ("have probability 0.02 (median)" in text) is said
