import re

import pandas as pd
import pytest

from coherence.report.ranking import FEW
from coherence.report.summary import SCREEN, render_report, render_summary
from coherence.report.terminal import render_terminal
from coherence.result import CheckResult, Interval


@pytest.fixture
def many(unit):
    """Return units whose effect grows with their number; every fourth rejects."""

    def made(n, **changes):
        units = []
        for at in range(n):
            holm = 0.01 if at % 4 == 0 else 1.0
            effect = 0.01 * at
            results = tuple(
                CheckResult(
                    f"check_{number}",
                    "n",
                    effect,
                    "belief",
                    Interval(effect - 0.1, effect + 0.1),
                    0.001 if holm < 1 else 0.6,
                    100,
                    50,
                    pvalue_holm=holm,
                    n_tests=n,
                )
                for number in range(9)
            )
            name = f"a-model-with-a-long-name-{at}"
            units.append(unit(model=name, results=results, verdicts=("V.",) * 9, **changes))
        return units

    return made


@pytest.mark.lengthy
@pytest.mark.parametrize("n", [FEW + 1, 24, 300])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_many_units_fit_a_few_screens(many, n, width):
    lines = render_summary(many(n), width=width).splitlines()
    assert len(lines) < 120
    assert max(map(len, lines)) <= width


def test_units_are_ranked_with_interval_and_both_p_values(many):
    text = render_summary(many(8), width=120)
    rows = [line for line in text.splitlines() if line.startswith("asia · a-model") and "[" in line]
    assert [line.split("name-")[1].split()[0] for line in rows] == list("76543210")
    assert "0.040 belief" in rows[3]
    assert "[-0.060, 0.140]" in rows[3]
    assert "0.001 (0.010)" in rows[3]
    assert "18 of 72 tests reject" in text.splitlines()[0]


def test_what_fails_is_said_in_two_sentences_and_the_rest_is_named_once(many):
    units = many(8)
    text = " ".join(render_summary(units, width=120).split())
    assert text.count(" ".join(units[0].conclusion)) == 2  # units 0 and 4
    assert "No test rejects in 6 units" in text
    assert "--full" in text


def test_unreadable_answers_and_what_all_units_share_are_said_once(many):
    statuses = pd.DataFrame(
        {"question": ["standard"] * 2, "status": ["ok", "refused"], "rows": [9, 1]}
    )
    text = " ".join(render_summary(many(5, statuses=statuses, notes=("said by all.",))).split())
    assert "5 units have at least 1% unreadable answers" in text
    assert "10.0%" in text
    assert text.count("said by all.") == 1


def test_a_caution_about_one_unit_is_said_with_its_name(many, unit):
    caution = "caution: the action 'biy' looks like 'buy'."
    text = render_summary(
        [*many(5, notes=()), unit(model="other", notes=("n", caution))], width=200
    )
    assert f"· asia · other: {caution}" in text
    assert "1 more note on what was left out" in text


def test_what_fits_a_screen_is_shown_whole_and_whoever_asks_gets_everything(many):
    short, long = many(1), many(FEW)
    whole = render_terminal(short, width=100)
    assert len(whole.splitlines()) <= SCREEN < len(render_terminal(long, width=100).splitlines())
    assert render_report(short, width=100) == whole
    assert render_report(long, width=100, full=True) == render_terminal(long, width=100)
    units = many(FEW + 1)
    assert render_report(units, width=100) == render_summary(units, width=100)
    assert render_report(units, width=100, full=True) == render_terminal(units, width=100)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_longer_reports_of_few_units_are_brief_and_name_where_the_rest_is(many, width):
    text = render_report(many(FEW, notes=("n",)), width=width, more="report.html")
    lines = text.splitlines()
    assert len(lines) < len(render_terminal(many(FEW), width=width).splitlines())
    assert max(map(len, lines)) <= width
    for unit in many(FEW):
        assert unit.model in text
    assert " ".join(text.split()).endswith("and all notes: report.html.")


def test_effects_in_different_units_stand_apart_and_the_choice_is_named(unit):
    def of(model, effect, measure, **settings):
        result = CheckResult(
            "residual_covariance", "n", effect, measure, None, 0.5, 9, 9, settings=settings
        )
        return unit(model=model, results=(result,), verdicts=("V.",), notes=())

    difference = "P(yes | 1) - P(yes | not 1)"
    units = [
        of("m0", 0.1, "belief"),
        of("m1", 0.9, "probability", component=difference),
        of("m2", 0.2, "belief"),
        of("m3", 0.3, "belief"),
    ]
    lines = [line.strip() for line in render_summary(units, width=100).splitlines()]
    assert "the largest first, within each unit of measurement:" in " ".join(lines)
    starts = ("asia · m", "effects in", "P(")
    shown = [line.split("  ")[0] for line in lines if line.startswith(starts)]
    assert shown == [
        "effects in belief",
        *("asia · m3", "asia · m2", "asia · m0"),
        *("effects in probability", "asia · m1", difference),
    ]
    alone = render_summary([of(f"m{at}", 0.1, "belief") for at in range(4)], width=100)
    assert "effects in" not in alone
    assert "the largest first:" in alone


def test_names_of_tests_are_not_cut_inside_a_word(unit):
    rejecting = tuple(
        CheckResult(f"monotone_choice:{pair}", "n", 0.2, "share", None, 0.001, 9, 9, pvalue_holm=0)
        for pair in ("yes/no", "yes/defer", "defer/no")
    )
    units = [
        unit(model=f"m{at}", results=rejecting, verdicts=("V.",) * 3, notes=()) for at in range(4)
    ]
    for width in range(70, 121):
        table = render_summary(units, width=width).split("rejected tests")[-1].split("───")[0]
        names = re.findall(r"[a-z]+", re.sub(r"asia · m\d|share", "", table))
        assert set(names) <= {"monotone", "choice", "yes", "no", "defer"}


def test_names_cannot_send_commands_to_the_terminal_and_ascii_is_kept(many, unit):
    units = [*many(4), unit(model="\x1b[31mred\x1b[0m", results=(), verdicts=(), notes=())]
    text = render_summary(units, width=100, ascii_only=True)
    assert "\x1b" not in text
    assert "─" not in text


def test_one_of_anything_has_the_singular(unit):
    """Every count of a summary in which each of them is one."""
    one = CheckResult("cmi", "n", 0.1, "nats", None, 0.5, 1, 1, pvalue_holm=0.5)
    statuses = pd.DataFrame({"question": ["belief"] * 2, "status": ["ok", "refused"], "rows": 1})
    quiet = pd.DataFrame({"question": ["belief"], "status": ["ok"], "rows": [1]})
    rejecting = CheckResult("cmi", "n", 0.2, "nats", None, 0.001, 1, 1, pvalue_holm=0.004)
    units = [
        unit(model="m0", results=(one,), verdicts=("V.",), notes=("odd",), statuses=statuses),
        unit(model="m1", results=(rejecting,), verdicts=("V.",), notes=(), statuses=quiet),
    ]
    text = " ".join(render_summary(units, width=120).split())
    for said in (
        "2 units (task · model). 1 of 2 tests rejects after Holm's correction",
        ", in 1 of 2 units.",
        "No test rejects in 1 unit: asia · m0.",
        "1 unit has at least 1% unreadable answers",
        "1 more note on what was left out",
    ):
        assert said in text
    text = render_summary(units[:1], width=120)
    assert text.startswith("1 unit (task · model). The one test does not reject.")
    full = render_terminal(units, width=120)
    assert "1 row in 1 context: cmi" in full
    plurals = re.compile(r"(?<!of )\b1 (units|tests|rows|contexts|answers|notes|results|checks)\b")
    for words in (text, full):
        assert not plurals.search(words)


def test_an_alert_stands_below_the_first_line_with_the_units_that_it_is_about(many, unit):
    alert = "no context column: nothing says which rows repeat."
    of_all = render_summary(many(5, notes=(alert,), alerts=(alert,)), width=200)
    assert of_all.splitlines()[1] == f"Caution: {alert}"
    assert of_all.count(alert) == 1
    of_one = render_summary([*many(5), unit(model="other", alerts=(alert,))], width=200)
    assert of_one.splitlines()[1] == f"Caution: {alert} In asia · other."
