"""The short report: of every evaluation its verdict, and one table."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from coherence import CheckResult, Interval, analyze, read_runs, simulate
from coherence.report.evaluation import Source
from coherence.report.terminal import render_report
from coherence.report.variation import Variation
from coherence.report.verdicts import Verdict
from coherence.result import Estimate, Family
from coherence.table.audit import ElicitationSummary, FormProbability
from coherence.table.notes import Code, warning

WIDTH = 80


def result(check, statistic, low, high, family=Family.ESTIMATE, pvalue=None, **changes):
    fields = {"interval": Interval(low, high), "n_rows": 400, "n_contexts": 80}
    fields |= {"pvalue": pvalue, "family": family, "settings": {"state": "exact"}}
    return CheckResult(check, "n", statistic, "probability", **fields | changes)


def primary(statistic=0.32, low=0.14, high=0.5, share=(0.38, 0.29, 0.47), slope=(0.9, 0.7, 1.0)):
    also = {
        "hidden_share": Estimate(*share, "share", "of what choices know"),
        "slope": Estimate(*slope, "probability", "from 0 to 1"),
    }
    return result(*("sufficiency", statistic, low, high, Family.PRIMARY), pvalue=0.001, also=also)


def shown(*units, **options):
    return render_report(units, width=WIDTH, **options)


def row_of(text, name):
    return next(line for line in text.splitlines() if name in line)


def words(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def example():
    checks = ["sufficiency", "calibration", "prompt_consistency", "iterated_expectation"]
    return analyze(read_runs("examples/runs.parquet"), checks=checks, rng=0)


def test_two_models_are_said_on_one_screen_the_verdict_first(example):
    text = render_report(example.evaluations, width=WIDTH)
    lines = text.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= WIDTH
    assert lines[0].startswith("asia · planted-leaky")
    assert lines[0].endswith("80 cases, 2400 answers, all parsed; exact posteriors")
    assert lines[1].startswith("  ✗ Acts on more than it says")
    assert "  ? Cannot tell: it hardly moves. It states 44 to 47%" in text
    assert "defer is 98.7% of its choices" in words(text)
    assert text.count("✗") == 3, "verdict, row of the primary test, legend"


def test_ascii_is_no_wider_than_the_terminal(example):
    """Breaks if the two columns of "<=" are forgotten."""
    for width in (60, 79, 80, 81, 120):
        for color in (False, True):
            text = render_report(example.evaluations, width=width, color=color, ascii_only=True)
            plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
            assert max(map(len, plain.splitlines())) <= width
            assert "p <= .05" in words(plain)


def test_rows_that_break_stay_below_their_heading(example):
    lines = render_report(example.evaluations, width=60).splitlines()
    first = next(at for at, line in enumerate(lines) if "choice at equal" in line)
    assert lines[first].startswith("  choice")
    assert lines[first + 1].startswith("  ")


def test_a_leak_is_not_named_twice_and_an_empty_table_is_left_out(unit):
    leak = result("evidence_leak", 0.2, 0.1, 0.3, Family.SECOND, pvalue=1e-9)
    said = {"results": (primary(), leak), "verdicts": ("V.",) * 2}
    assert "Further tests" not in shown(unit(**said, verdict=Verdict.KNOWS_TRUTH))
    assert "(evidence_leak)" in shown(unit(**said, verdict=Verdict.ACTS_ON_MORE))
    nothing = result("sufficiency", float("nan"), 0.0, 1.0, Family.PRIMARY, pvalue=float("nan"))
    text = shown(unit(results=(nothing,), verdicts=("V.",), verdict=Verdict.TOO_FEW_CASES))
    assert "95% intervals" not in text


def test_the_readme_shows_it(example):
    readme = Path("README.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(.*?)```", readme, re.DOTALL)
    # The line on further tests takes them all, which the command runs and this fixture does not.
    lines = [line for line in shown[1].splitlines() if "Further tests: " not in line]
    source = Source("coherence analyze examples/runs.parquet", "")  # as the command line says
    evaluations = [replace(evaluation, source=source) for evaluation in example.evaluations]
    assert lines == render_report(evaluations, width=WIDTH).splitlines()
    assert len(lines) < 26


def test_further_tests_that_reject_are_named_under_the_verdict(unit):
    gap = result("iterated_expectation", 0.2, 0.1, 0.3, Family.SECOND, pvalue=1e-4)
    other = result("cmi", 0.2, 0.1, 0.3, Family.SECOND, pvalue=0.4)
    text = shown(unit(results=(primary(), gap, other), verdicts=("V.",) * 3))
    assert "Further tests: 1 of 2 rejects (iterated_expectation)." in text
    assert "Further tests" not in shown(unit(results=(primary(), other), verdicts=("V.",) * 2))


def test_the_numbers_are_those_of_the_verdicts(example):
    text = render_report(example.evaluations, width=WIDTH)
    row = example.verdicts.iloc[0]
    points = [f"{100 * row[name]:.0f}" for name in ("estimate", "low", "high")]
    assert f"{points[0]} [{points[1]}, {points[2]}] ✗" in row_of(text, "choice at equal belief")
    shares = [f"{100 * row[f'hidden_share{end}']:.0f}" for end in ("", "_low", "_high")]
    cells = row_of(text, "hidden share").split("hidden share")[1].strip()
    assert cells.split("  ")[0] == f"{shares[0]}% [{shares[1]}, {shares[2]}]"
    assert cells.endswith("–"), "of an evaluation that cannot tell"


def test_only_the_primary_test_has_a_mark_and_undefined_rows_are_left_out(unit):
    gap = result("iterated_expectation", 0.2, 0.1, 0.3, Family.SECOND, pvalue=1e-4)
    text = shown(unit(results=(primary(), gap), verdicts=("V.",) * 2, verdict=Verdict.ACTS_ON_MORE))
    assert row_of(text, "choice at equal belief").endswith("32 [14, 50] ✗")
    assert row_of(text, "gap after evidence").endswith("20 [10, 30]")
    assert "prompt variants" not in text
    assert "RMSE" not in text


@pytest.mark.parametrize(
    ("verdict", "mark", "cell"),
    [
        (Verdict.ACTS_ON_MORE, "✗", "32 [14, 50] ✗"),
        (Verdict.ACTS_ON_MORE_TURNING, "✗", "turns ✗"),
        (Verdict.ACTS_OR_NOISY, "✗", "32 [14, 50] ✗"),
        (Verdict.KNOWS_TRUTH, "✗", "32 [14, 50]"),
        (Verdict.TOO_FEW_REPORTS, "?", "32 [14, 50]"),
        (Verdict.WITHIN_MARGIN, "✓", "32 [14, 50]"),
        (Verdict.NO_EVIDENCE, "·", "32 [14, 50]"),
        (Verdict.FORECASTS, " ", "32 [14, 50]"),
    ],
)
def test_a_verdict_has_its_mark(unit, verdict, mark, cell):
    text = shown(
        unit(
            results=(primary(),), verdicts=("V.",), verdict=verdict, conclusion=("Said.", "Beside")
        )
    )
    assert f"  {mark} Said.\n" in text
    assert "Beside" not in text
    assert (".05, or evidence_leak." in text) == (verdict is Verdict.KNOWS_TRUTH)
    assert row_of(text, "choice at equal belief").endswith(cell)


def test_small_intervals_have_a_decimal_and_wide_ones_none(unit):
    for ends, cell in (
        ((0.022, 0.021, 0.0234), "2.2 [2.1, 2.3]"),
        ((0.31, 0.02, 0.6), "31 [2, 60]"),
        ((-0.0001, -0.0004, 0.0002), "0.0 [0.0, 0.0]"),
        ((1.06, 0.4, 1.3), "100 [40, 100]"),  # an estimate may lie beyond what can be
    ):
        text = shown(unit(results=(primary(*ends),), verdicts=("V.",)))
        assert row_of(text, "choice at equal belief").rstrip(" ✗").endswith(cell)


def test_what_would_seldom_be_said_is_beside_the_verdict_with_its_share(unit):
    answering = ElicitationSummary({}, masses=(FormProbability("action", 80, 1.8e-6, 0.0),))
    text = words(shown(unit(results=(primary(),), verdicts=("V.",), answering=answering)))
    assert "2e-06 of its probability lies on the form asked for" in text


def test_a_warning_about_one_of_two_names_it_and_many_are_counted(unit):
    notes = tuple(warning(Code.SPELLING, f"number {at}.") for at in range(5))
    units = [unit(results=(primary(),), verdicts=("V.",), model=m) for m in "ab"]
    units.append(unit(results=(primary(),), verdicts=("V.",), model="c", notes=notes))
    text = words(shown(*units))
    assert "asia · c: warning: number 0." in text
    assert "number 3" not in text
    assert "2 further warnings." in text


def test_names_reach_no_terminal_as_code(unit):
    for name in ("[/]", "\x1b[2J\x1b]0;owned\x07m\n\n", "x" * 10_000, "yes\u202e\u200f"):
        moves = Variation(0.44, 0.47, 0.008, "", actions={name: 1.0})
        hostile = unit(
            *(name, name),
            results=(primary(),),
            verdicts=(name,),
            conclusion=(name,),
            notes=(warning(Code.SPELLING, name),),
            variation=moves,
        )
        for color in (False, True):
            text = shown(hostile, color=color)
            plain = re.sub(r"\x1b\[[0-9;]*m", "", text) if color else text
            assert all(mark.isprintable() or mark == "\n" for mark in plain)
            assert max(map(len, plain.splitlines())) <= WIDTH
    assert shown(hostile, ascii_only=True).isascii()


def test_without_the_primary_test_results_are_listed_as_asked_for():
    runs = simulate("rational", n_contexts=30, n_reps=2, rng=1)
    text = str(analyze(runs, checks=["cmi"], rng=1))
    assert "What moves" in text
    assert "(cmi)" in text


def test_a_model_without_the_primary_test_has_no_mark_and_says_why():
    runs = simulate("rational", n_contexts=30, n_reps=2, rng=1)
    silent = runs.assign(model="silent", p=float("nan"), action=None, status="refused")
    table = pd.concat([runs.assign(model="talks"), silent])
    report = analyze(table, checks=["sufficiency", "calibration"], rng=1)
    said = render_report(report.evaluations, width=WIDTH)
    assert "\n    No verdict (no row has a parsed belief, action and state: sufficiency" in said
