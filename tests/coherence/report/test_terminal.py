import re

import pandas as pd
import pytest

from coherence.report.report import Report
from coherence.report.terminal import render_terminal
from coherence.result import CheckResult

BOUND_COLUMNS = ["quantity", "label", "asked", "unreadable", "estimate", "low", "high"]


def table_of(text, heading):
    """Return the cells of a table that begins with a heading."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(heading))
    end = next(
        number
        for number in range(at, len(lines) + 1)
        if number == len(lines) or not lines[number].strip()
    )
    return [re.split(r" {2,}", line.strip()) for line in lines[at:end]]


def test_answers_are_counted_per_question(report):
    assert table_of(render_terminal(report.units, width=100), "question") == [
        ["question", "asked", "ok", "refused", "unreadable"],
        ["belief and action", "1000", "997", "3", "0.3%"],
        ["mse", "1000", "1000", "0", "0.0%"],
    ]


def test_repairs_and_bounds_are_said(unit):
    statuses = pd.DataFrame(
        {
            "question": ["mse"] * 3,
            "status": ["out_of_range", "repaired:percent", "repaired:words"],
            "rows": [7, 2, 1],
        }
    )
    bounds = pd.DataFrame(
        [["choice rate", "yes\x1b[31m", 10, 7, 1 / 3, 0.1, 0.8]], columns=BOUND_COLUMNS
    )
    text = render_terminal(Report((unit(statuses=statuses, bounds=bounds),), {}).units, width=100)
    assert table_of(text, "question")[1] == ["mse", "10", "0", "3", "7", "70.0%"]
    assert "repaired answers by what was repaired: 2 percent, 1 words" in text
    assert table_of(text, "rate")[1] == ["choice rate: yes", "7", "0.333", "[0.100, 0.800]"]


def test_a_table_too_wide_is_said_in_words(unit):
    statuses = pd.DataFrame({"question": ["w" * 50], "status": ["out_of_range"], "rows": [7]})
    text = render_terminal(Report((unit(statuses=statuses),), {}).units, width=60)
    assert "7 asked, 0 ok, 7 out of range, 100.0% unreadable" in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= 60


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_line_is_wider_than_asked(report, width):
    assert (
        max(len(line) for line in render_terminal(report.units, width=width).splitlines()) <= width
    )


def test_verdict_stands_beside_at_100_columns_and_below_at_80(report):
    wide, narrow = render_terminal(report.units, width=100), render_terminal(report.units, width=80)
    assert re.search(
        r"^cmi .*0\.0312 nats +\[0\.0110, 0\.0523\] +0\.004  The actions", wide, re.MULTILINE
    )
    assert re.search(r"0\.004$\n    The actions carry information", narrow, re.MULTILINE)


def test_every_verdict_note_and_reason_is_said(report):
    text = " ".join(render_terminal(report.units, width=60).split())
    for unit in report.units:
        for sentence in (
            *unit.verdicts,
            *unit.notes,
            "(no row has z)" if len(unit.results) == 5 else "",
        ):
            assert sentence in text
    assert "800 rows in 198 contexts, 3 left out for missing values: monotone_choice:yes/no" in text


def test_names_cannot_send_commands_to_the_terminal(unit):
    hostile = "\x1b[2J\x1b]0;owned\x07m\n\n"
    changed = unit(task=hostile, model=hostile, verdicts=(hostile,) * 5, notes=(hostile,))
    text = render_terminal(Report((changed,), {}).units, width=100)
    assert not set(text) & {
        chr(code) for code in [*range(32), *range(127, 160)] if chr(code) != "\n"
    }
    assert text.startswith("m · m\n")


def test_colour_only_on_request(report):
    assert "\x1b" not in render_terminal(report.units, width=100)
    coloured = render_terminal(report.units, width=100, color=True)
    assert re.sub(r"\x1b\[\d*m", "", coloured) == render_terminal(report.units, width=100)
    bold = [
        line
        for line in coloured.splitlines()
        if line.startswith("\x1b[1mcmi ") or line.startswith("\x1b[1mpredictive_gain ")
    ]
    assert len(bold) == 2, "cmi (p = .004) in both units, and predictive_gain (p = .31) in none"


def test_wide_characters_keep_the_columns_aligned(unit):
    result = CheckResult("monotone_choice:決/待", "n", 0.5, "nats", None, 0.5, 10, 5)
    other = CheckResult("cmi", "n", 0.5, "nats", None, 0.5, 10, 5)
    lines = render_terminal(
        Report((unit(results=(result, other), verdicts=("V.", "V."), conclusion=()),), {}).units,
        width=100,
    ).splitlines()
    wide, plain = lines[3], lines[4]
    assert plain.index("0.500 nats") - wide.index("0.500 nats") == 2, (
        "two characters that take two cells each"
    )


def test_report_without_units_or_results_says_so(unit):
    assert "no rows" in render_terminal(Report((), {}).units)
    assert "No check could be run." in render_terminal(
        Report((unit(results=(), verdicts=()),), {}).units
    )


def test_adjusted_pvalues_stand_in_brackets(report):
    from dataclasses import replace

    unit = report.units[0]
    tested = next(result for result in unit.results if result.pvalue is not None)
    adjusted = replace(tested, pvalue=0.01, pvalue_holm=0.04)
    changed = replace(report, units=(replace(unit, results=(adjusted,), verdicts=("x",)),))
    assert "0.010 (0.040)" in render_terminal(changed.units, width=100)


def test_markup_in_names_is_text_and_overrides_are_dropped(unit):
    name = "[red]m[/red] [link=http://x]:smile:\u202e"
    result = CheckResult("[bold]c[/bold]", "n", 0.5, "[dim]nats", None, 0.5, 10, 5)
    shown = unit(task=name, model="", results=(result,), verdicts=("[/]",), notes=("[blink]n",))
    text = render_terminal((shown,), width=120, color=True)
    for sentence in ("[red]m[/red] [link=http://x]:smile:", "[bold]c[/bold]", "[dim]nats", "[/]"):
        assert sentence in text
    assert "· [blink]n" in text
    assert "\u202e" not in text


def test_the_environment_brings_no_colour_that_was_not_asked_for(report, monkeypatch):
    plain = render_terminal(report.units, width=100)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"):
        monkeypatch.setenv(name, "1")
    assert render_terminal(report.units, width=100) == plain


def test_a_pvalue_at_the_level_is_emphasised_as_the_verdict_has_it(unit):
    for pvalue, code in ((0.05, "\x1b[1mcmi "), (0.0501, "cmi ")):
        result = CheckResult("cmi", "n", 0.5, "nats", None, pvalue, 10, 5)
        text = render_terminal((unit(results=(result,), verdicts=("V.",)),), width=100, color=True)
        assert any(line.startswith(code) for line in text.splitlines())


def test_ascii_on_request_keeps_every_column(report):
    fancy = render_terminal(report.units, width=80)
    plain = render_terminal(report.units, width=80, ascii_only=True)
    assert plain.isascii()
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in fancy.splitlines()]
    assert "-" * 80 in plain


def test_a_long_name_is_broken_after_its_colon(unit):
    result = CheckResult("monotone_choice:take umbrella/leave", "n", 0.5, "", None, 1.0, 10, 5)
    fields = {"results": (result,), "verdicts": ("V.",), "conclusion": ()}
    lines = render_terminal((unit(**fields),), width=100).splitlines()
    assert lines[3].startswith("monotone_choice:  ")
    assert lines[4] == "  take umbrella/leave"


def test_adjusted_pvalues_and_long_units_leave_no_line_wider_than_asked(report):
    from dataclasses import replace

    unit = report.units[0]
    results = tuple(
        replace(result, pvalue_holm=result.pvalue, unit="probability") for result in unit.results
    )
    for width in (60, 80):
        text = render_terminal((replace(unit, results=results),), width=width)
        assert max(map(len, text.splitlines())) <= width
        assert "[0.0110, 0.0523]" in text, "an interval is never broken"
        assert "probability" in text, "nor is a word of the effect"


def test_an_alert_stands_above_the_table_and_not_below(unit):
    alert = "no context column: nothing says which rows repeat."
    text = render_terminal([unit(notes=("a note", alert), alerts=(alert,))], width=120)
    lines = text.splitlines()
    said = lines.index(f"Caution: {alert}")
    assert said < next(at for at, line in enumerate(lines) if line.startswith("check "))
    assert text.count(alert) == 1
    assert "· a note" in text
