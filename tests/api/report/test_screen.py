"""The text of a report: of every evaluation its verdict and one table, or results as asked for."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from coherence import CheckResult, Interval, analyze, read_runs
from coherence.checks.sufficiency_result import Sufficiency
from coherence.report.document import Look, Paragraph
from coherence.report.effects import long_table, short_table
from coherence.report.evaluation import FEW, Variation
from coherence.report.screen import render_parts, render_report
from coherence.report.verdicts import VERDICTS
from coherence.result import Estimate, Family
from coherence.runs.notes import Code, Note, warning

WIDTH = 80
HOSTILE = ("<script>alert(1)</script>", "[/]", "[red]m[/red] [link=http://x]:smile:")
HOSTILE += ("\x1b[2J\x1b]0;owned\x07m\n\n", "x" * 10_000, "yes\u202e\u200f")


def estimate(check, statistic, low, high, kind=CheckResult, **changes):
    fields = {"interval": Interval(low, high), "n_rows": 400, "n_contexts": 80}
    fields |= {"pvalue": None, "family": Family.ESTIMATE}
    return kind(check, "n", statistic, "probability", **fields | changes)


def primary(statistic=0.32, low=0.14, high=0.5):
    share = Estimate(0.38, 0.29, 0.47, "share", "of what choices know")
    also = {"hidden_share": share, "slope": Estimate(0.9, 0.7, 1.0, "probability", "from 0 to 1")}
    found = {"family": Family.PRIMARY, "state": "exact", "also": also, "pvalue": 0.001}
    return estimate("sufficiency", statistic, low, high, Sufficiency, **found)


def result(check, pvalue=0.5, statistic=0.1, holm=None, interval=None, **fields):
    fields = {"unit": "nats", "n_dropped": 2, "n_tests": 9} | fields
    holm = pvalue if holm is None else holm
    of_data = {"interval": interval, "pvalue": pvalue, "n_rows": 90, "n_contexts": 30}
    return CheckResult(check, "n", statistic, **of_data, **fields, pvalue_holm=holm)


@pytest.fixture
def of(unit):
    return lambda *results, **changes: unit(
        results=results, verdicts=("V.",) * len(results), **changes
    )


def shown(*units, width=WIDTH, **options):
    return render_report(units, width=width, **options)


def row_of(text, name):
    return next(line for line in text.splitlines() if name in line)


def words(text):
    return " ".join(text.split())


def uncoloured(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.fixture(scope="module")
def example():
    checks = ["sufficiency", "threshold", "calibration", "prompt_consistency"]
    checks += ["iterated_expectation"]
    return analyze(read_runs("examples/runs.parquet"), checks=checks, rng=0)


def test_the_readme_shows_it(example):
    readme = Path("README.md").read_text(encoding="utf-8")
    printed = re.search(r"```text\n(.*?)```", readme, re.DOTALL)
    # The line on further tests takes them all, which the command runs and this fixture does not.
    lines = [line for line in printed[1].splitlines() if "Further tests: " not in line]
    command = "coherence analyze examples/runs.parquet"  # as the command line says
    evaluations = [replace(evaluation, command=command) for evaluation in example.evaluations]
    assert lines == shown(*evaluations).splitlines()
    assert len(lines) < 26


def test_the_numbers_are_those_of_the_verdicts(example):
    text = shown(*example.evaluations)
    row = example.verdicts.iloc[0]
    points = [f"{100 * row[name]:.0f}" for name in ("estimate", "low", "high")]
    assert f"{points[0]} [{points[1]}, {points[2]}] ✗" in row_of(text, "choice at equal belief")
    shares = [f"{100 * row[f'hidden_share{end}']:.0f}" for end in ("", "_low", "_high")]
    cells = row_of(text, "hidden share").split("hidden share")[1].strip()
    assert cells.split("  ")[0] == f"{shares[0]}% [{shares[1]}, {shares[2]}]"
    assert cells.endswith("–"), "of an evaluation that cannot tell"


def test_no_line_is_wider_than_asked_in_ascii_or_in_colour(example, report):
    """Breaks if the two columns of "<=" are forgotten, or a word of a command is broken."""
    assert (word := "calibration," * 12) in render_parts(
        [Paragraph(f"--checks {word}", Look.COMMAND)], width=60
    )
    for width in (60, 79, 81, 120):
        options = {"width": width, "color": width == 79, "ascii_only": True}
        text = uncoloured(shown(*example.evaluations, **options))
        assert max(map(len, text.splitlines())) <= width
        assert "p <= .05" in words(text)
        full = shown(*report.evaluations, width=width, full=True)
        assert max(map(len, full.splitlines())) <= width
        assert "[0.0110, 0.0523]" in full


def test_further_tests_that_reject_are_named_and_the_primary_one_alone_has_a_mark(of):
    gap = estimate("iterated_expectation", 0.2, 0.1, 0.3, family=Family.SECOND, pvalue=1e-4)
    other = estimate("cmi", 0.2, 0.1, 0.3, family=Family.SECOND, pvalue=0.4)
    text = shown(of(primary(), gap, other, verdict=VERDICTS["acts_on_more"]))
    assert "Further tests: 1 of 2 rejects (iterated_expectation)." in text
    assert "Further tests" not in shown(of(primary(), other))
    assert row_of(text, "choice at equal belief").endswith("32 [14, 50] ✗")
    assert row_of(text, "gap after evidence").endswith("20 [10, 30]")
    assert "prompt variants" not in text
    assert "RMSE" not in text


@pytest.mark.parametrize(
    ("verdict", "mark", "cell"),
    [
        ("acts_on_more", "✗", "32 [14, 50] ✗"),
        ("acts_on_more_turning", "✗", "32 [14, 50] ✗"),
        ("acts_on_more_or_noisy", "✗", "32 [14, 50] ✗"),
        ("knows_truth", "✗", "32 [14, 50]"),
        ("too_few_cases", "?", "32 [14, 50]"),
        ("within_margin", "✓", "32 [14, 50]"),
        ("no_evidence", "·", "32 [14, 50]"),
        ("forecasts", " ", "32 [14, 50]"),
    ],
)
def test_a_verdict_has_its_mark(of, verdict, mark, cell):
    text = shown(of(primary(), verdict=VERDICTS[verdict], conclusion=("Said.", "Beside")))
    assert f"  {mark} Said.\n" in text
    assert "Beside" not in text
    assert ("✗ evidence_leak." in text) == (verdict == "knows_truth")
    assert row_of(text, "choice at equal belief").endswith(cell)


@pytest.mark.parametrize(
    ("first", "n", "full"),
    [(primary(), 1, False), (None, 1, True), (None, FEW + 1, False)],
)
def test_what_names_hold_is_text_and_no_code_reaches_the_terminal(of, first, n, full):
    for name in HOSTILE:
        checks = (result(name, unit=name), result(f"monotone_choice:{name}/b", 0.001))
        hostile = of(
            *((first,) if first else checks),
            **{"task": name, "model": name, "conclusion": (name,)},
            notes=(Note(Code.UNREAD, name), warning(Code.SPELLING, name)),
            variation=Variation(0.44, 0.47, 0.008, "", actions={name: 1.0}),
        )
        for color in (False, True):
            text = render_report([hostile] * n, full=full, width=100, color=color)
            plain = uncoloured(text) if color else text
            assert all(mark.isprintable() or mark == "\n" for mark in plain)
            assert max(map(len, plain.splitlines())) <= 100
            if name.isprintable() and len(name) < 40:
                assert name in plain
    assert shown(hostile, ascii_only=True).isascii()


# Where the primary test was not asked for


def test_a_unit_opens_with_what_moves_and_with_what_that_means(of):
    actions = {"defer": 0.987, "[/]": 0.013}
    moves = Variation(0.44, 0.47, 0.008, "exact posterior", 0.0, 0.92, 0.27, actions, 0.03)
    said = words(render_report([of(result("cmi"), variation=moves)]))
    assert "Beliefs 0.44 to 0.47 (SD 0.00800)" in said
    assert "runs from 0.00 to 0.92 (rank correlation 0.27)" in said
    assert "actions defer 98.7%, [/] 1.3%" in said
    little = "Tests of belief against choice can see little here"
    assert f"and 98.7% of its choices are defer. {little}" in said
    wide = replace(moves, sd=0.3, actions={"yes": 0.5, "no": 0.5})
    assert little not in render_report([of(result("cmi"), variation=wide)])


def test_a_notebook_prints_the_same_text(example, monkeypatch):
    said = str(example)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert "Acts on more than it says" in said
    assert str(example) == said


def test_everything_is_said_in_the_full_report(report, unit):
    text = words(render_report(report.evaluations, full=True, width=60))
    for each in report.evaluations:
        for sentence in (*each.verdicts, *map(str, each.notes)):
            assert sentence in text
    assert text.count("no row has z") == 2  # below the table, and as the sentence
    assert "belief and action 1,000 997 3 0.3%" in text


@pytest.mark.parametrize("value", [1.3e-17, -1.3e-17, 0.0])
def test_a_number_that_is_zero_but_for_rounding_prints_as_zero(value, of):
    effect = estimate("sufficiency", value, value, value)
    assert "0 probability, 95% interval [0, 0]" in str(effect)
    assert "e-1" not in render_report([of(effect)])


def test_of_many_those_that_a_test_marks_stand_first_and_those_that_cannot_tell_last(of):
    """Breaks if the order is that of names, or a model without an effect is lost."""
    size = {"small": 0.1, "large": -0.4, "mute": math.nan, "caught": 0.05}
    codes = {"mute": "hardly_moves", "caught": "acts_on_more"}
    units = [
        of(primary(value), model=name, verdict=VERDICTS[codes.get(name, "no_evidence")])
        for name, value in size.items()
    ]
    table = long_table(units, [f"#{name}" for name in size])
    assert [row[0].text for row in table.rows] == ["caught", "large", "small", "mute"]
    assert [row[0].link for row in table.rows] == ["#caught", "#large", "#small", "#mute"]
    assert [row[1].text for row in table.rows][::3] == ["✗ acts on more", "? hardly moves"]
    # What the short table has beside each other stands in the rows.
    for number, model in enumerate(size):
        (row,) = [row for row in table.rows if row[0].text == model]
        beside = [cells[number + 1].text for cells in short_table(units).rows]
        assert [cell.text for cell in row[2:]] == beside
