import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coherence import CheckResult, Interval, analyze
from coherence.report.ranking import FEW
from coherence.report.terminal import render_report
from coherence.report.variation import Variation
from coherence.table.notes import Code, Level, Note

BOUND_COLUMNS = ["quantity", "label", "asked", "unreadable", "estimate", "low", "high"]
MOVES = Variation(
    0.44, 0.47, 0.008, "exact posterior", 0.0, 0.92, 0.27, {"defer": 0.987, "[/]": 0.013}, 0.03
)
HOSTILE = (
    "<script>alert(1)</script>",
    "[/]",
    "[red]m[/red] [link=http://x]:smile:",
    "\x1b[2J\x1b]0;owned\x07m\n\n",
    "x" * 10_000,
    "yes\u202e\u200f",
)


def result(check, pvalue=0.5, statistic=0.1, holm=None, interval=None, **fields):
    fields = {"unit": "nats", "n_dropped": 2, "n_tests": 9} | fields
    holm = pvalue if holm is None else holm
    of_data = {"interval": interval, "pvalue": pvalue, "n_rows": 90, "n_contexts": 30}
    return CheckResult(check, "n", statistic, **of_data, **fields, pvalue_holm=holm)


def of(unit, *results, **changes):
    return unit(results=results, verdicts=("V.",) * len(results), **changes)


def words(text):
    return " ".join(text.split())


def row_of(text, name):
    return next(line for line in text.splitlines() if name in line)


def test_a_unit_opens_with_what_moves_and_with_what_that_means(unit):
    said = words(render_report([of(unit, result("cmi"), variation=MOVES)]))
    assert "What moves beliefs 0.44 to 0.47 (SD 0.00800)" in said
    assert "runs from 0.00 to 0.92 (rank correlation 0.27)" in said
    assert "actions defer 98.7%, [/] 1.3%" in said
    assert "Beliefs (SD 0.00800) and choices (defer 98.7%) hardly vary" in said
    wide = replace(MOVES, sd=0.3, actions={"yes": 0.5, "no": 0.5})
    assert "hardly vary" not in render_report([of(unit, result("cmi"), variation=wide)])


def test_results_stand_under_their_question_with_the_name_of_the_check_behind(unit):
    results = [
        result("cmi", 0.001, holm=0.01, interval=Interval(0.05, 0.2)),
        result("predictive_gain", 0.03, holm=0.3),
        result("calibration:rmse", None),
        result("calibration:ece", None),
        result("my_own", 0.7),
    ]
    text = render_report([of(unit, *results)], width=120)
    places = [
        text.index(part) for part in ("belief acted on?", "belief (cmi)", "right?", "(calibration:")
    ]
    assert places == sorted(places)
    assert row_of(text, "belief (cmi)").endswith(
        "0.100 nats  [0.050, 0.200]  0.001 (0.010)  rejects"
    )
    assert row_of(text, "predict (predictive_gain)").endswith("nominal")
    assert "my_own" in text
    assert "calibration:ece" not in text
    assert "and 1 further result" in text
    assert "calibration:ece" in render_report([of(unit, *results)], full=True)


def test_everything_is_said_in_the_full_report(report, unit):
    text = words(render_report(report.evaluations, full=True, width=60))
    for each in report.evaluations:
        for sentence in (*each.verdicts, *map(str, each.notes)):
            assert sentence in text
    assert text.count("no row has z") == 2  # beside the dash, and as the sentence
    assert "800 rows in 198 contexts, 3 left out for missing values: monotone_choice:yes/no" in text
    assert "belief and action 1,000 997 3 0.3%" in text
    bounds = pd.DataFrame([["rate", "yes\x1b[31m", 10, 7, 1 / 3, 0.1, 0.8]], columns=BOUND_COLUMNS)
    assert "rate: yes 7 0.333 [0.100, 0.800]" in words(
        render_report([unit(bounds=bounds)], full=True)
    )


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("n", [1, FEW + 1])
def test_what_names_hold_is_text_and_no_code_reaches_the_terminal(unit, full, n):
    for name in HOSTILE:
        checks = (result(name, unit=name), result(f"monotone_choice:{name}/b", 0.001))
        moves = replace(MOVES, actions={name: 1.0})
        shown = of(
            unit, *checks, task=name, model=name, notes=(Note(Code.UNREAD, name),), variation=moves
        )
        for color in (False, True):
            text = render_report([shown] * n, full=full, width=100, color=color)
            plain = re.sub(r"\x1b\[[0-9;]*m", "", text) if color else text
            assert all(mark.isprintable() or mark == "\n" for mark in plain)
            assert max(map(len, plain.splitlines())) <= 100
            if name.isprintable() and len(name) < 40:
                assert name in plain


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("full", [False, True])
def test_no_line_is_wider_than_asked_and_no_interval_is_broken(report, width, full):
    adjusted = [
        replace(unit, results=tuple(replace(r, pvalue_holm=r.pvalue) for r in unit.results))
        for unit in report.evaluations
    ]
    text = render_report(adjusted, width=width, full=full)
    assert max(map(len, text.splitlines())) <= width
    assert "[0.0110, 0.0523]" in text


def test_colour_and_ascii_come_only_on_request(report, monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.setenv(name, "1")
    text = render_report(report.evaluations, width=100)
    assert "\x1b" not in text
    coloured = render_report(report.evaluations, width=100, color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).split() == text.split()
    assert re.search(r"\x1b\[1m[^\n]*\(cmi\)", coloured), "cmi rejects"
    assert not re.search(r"\x1b\[1m[^\n]*predictive_gain", coloured)
    plain = render_report(report.evaluations, width=100, ascii_only=True)
    assert plain.isascii()
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in text.splitlines()]


def test_reports_without_units_or_results_say_so(unit):
    assert "no rows" in render_report([])
    assert "No check could be run." in render_report([of(unit)])


def test_of_prompts_the_largest_leads_and_gaps_that_cancel_stand_with_their_mean(unit):
    sizes = {"apple": 0.0, "pear": float("nan"), "zebra": 0.58, "yam": 0.2}
    results = [result(f"prompt_consistency:{name}", None, size) for name, size in sizes.items()]
    results.append(result("iterated_expectation"))
    for low, shown in ((0.01, True), (0.0, False)):
        gaps = result("iterated_expectation:noise_removed", None, interval=Interval(low, 0.1))
        text = words(render_report([of(unit, *results, gaps)], width=120))
        assert "consistency:zebra" in text
        assert "consistency:yam" not in text
        assert ("noise_removed" in text) is shown


def test_an_alert_stands_above_the_results_and_not_below(unit):
    alert = "no context column: nothing says which rows repeat."
    notes = (Note(Code.LEFT_OUT, "a note"), Note(Code.NO_CONTEXT, alert, Level.ALERT))
    text = render_report([unit(notes=notes)], width=120)
    assert text.index(f"Warning: {alert}") < text.index("  effect  ")
    assert text.count(alert) == 1
    units = [unit(model=str(at)) for at in range(5)]
    of_one = render_report([*units, unit(model="other", notes=notes[1:])])
    assert f"Warning: {alert} In asia · other." in words(of_one)


def test_rows_of_no_context_enter_nothing():
    """Breaks if a result that could not be computed is counted as what entered an estimate."""
    p = np.linspace(0.1, 0.9, 30)
    versions = [
        pd.DataFrame({"context": range(30), "p": p, "theta": [0, 1] * 15, "prompt": name})
        for name in ("classic", "deluxe")
    ]
    checks = ["calibration", "prompt_consistency"]
    text = str(analyze(pd.concat(versions, ignore_index=True), checks=checks, rng=1))
    assert "30 rows in 30 contexts enter an estimate" in " ".join(text.split())
