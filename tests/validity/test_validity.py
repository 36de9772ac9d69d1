"""A reduced form of the validity table: sizes and power within exact bounds, seeds fixed."""

from pathlib import Path

import mixing
import page
import pytest
from designs import BIASED, GAPPED, NULLS, PROMPTED, ROUNDED, SIGNALS, VIOLATED
from readings import SUBJECTS
from scipy import stats
from simulate import counted, readings

from coherence.result import rejects

N = 60
QUICK = ("residual_covariance", "cmi", "monotone_yes_no", "iterated_expectation")
MARKS = {
    "60 contexts x 3": pytest.mark.lengthy,
    "200 x 5, taste of contexts": pytest.mark.slow,
    "200 x 5, action fixed in context": pytest.mark.slow,
    "theta rare (5%)": pytest.mark.slow,
}
HARD = [pytest.param(each, marks=MARKS[each.name]) for each in NULLS if each.name in MARKS]
SIGNAL = {design.signal: design for design in SIGNALS}


def _rejections(subject, design, n):
    run, (check,) = SUBJECTS[subject].run, SUBJECTS[subject].tests
    return sum(rejects(readings(run, design, 1, number)[check].pvalue) for number in range(n))


@pytest.mark.parametrize("check", QUICK)
@pytest.mark.parametrize("design", HARD, ids=lambda design: design.name)
def test_true_nulls_are_rejected_about_as_often_as_promised(check, design):
    """At a true rate of .05 the bound is passed once in ten thousand runs; a row-level test: .5."""
    assert _rejections(check, design, N) <= stats.binom.ppf(0.9999, N, 0.05)


@pytest.mark.parametrize(
    ("check", "signal", "power", "n"),
    [
        pytest.param("residual_covariance", 0.1, 0.70, N, marks=pytest.mark.lengthy),
        pytest.param("residual_covariance", 0.2, 0.97, N, marks=pytest.mark.lengthy),
        pytest.param("cmi", 0.1, 0.40, N, marks=pytest.mark.slow),
        pytest.param("cmi", 0.2, 0.80, N, marks=pytest.mark.lengthy),
        pytest.param("predictive_gain", 0.2, 0.70, 12, marks=pytest.mark.lengthy),
    ],
)
def test_hidden_signals_are_found(check, signal, power, n):
    """Fails once in ten thousand runs at the promised power."""
    assert _rejections(check, SIGNAL[signal], n) >= stats.binom.ppf(0.0001, n, power)


@pytest.mark.parametrize(
    ("subject", "design"),
    [
        ("residual_covariance", SIGNAL[0.2]),
        ("cmi", SIGNAL[0.2]),
        ("monotone_yes_no", VIOLATED[0]),
        ("iterated_expectation", GAPPED[0]),
        ("prompt_consistency", PROMPTED[0]),
        ("calibration", BIASED[0]),
        ("rounding", ROUNDED[3]),
    ],
)
@pytest.mark.slow
def test_intervals_cover(subject, design):
    """At a true rate of .95, fewer intervals than the bound hold once in ten thousand runs."""
    found = [readings(SUBJECTS[subject].run, design, 1, number) for number in range(N)]
    rows = counted(SUBJECTS[subject], design, found)
    covered = {row["check"]: row["count"] for row in rows if row["kind"] == "coverage"}
    assert set(covered) == set(SUBJECTS[subject].intervals)
    assert min(covered.values()) >= stats.binom.ppf(0.0001, N, 0.95)


@pytest.mark.lengthy
@pytest.mark.parametrize("step", [0.05, 0.1])
def test_coherent_rounded_reports_are_not_accused(step):
    """Without the floor all of these intervals lie above 0."""
    (design,) = (
        each
        for each in ROUNDED
        if (each.n_contexts, each.grid, each.scatter, each.gap) == (30, step, 0, 0)
    )
    assert _rejections("rounding", design, 30) <= stats.binom.ppf(0.999, 30, 0.05)


# The pages show what the committed results give (validity.md: tests/test_docs.py).


DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_the_batteries_has_the_figures_of_mixing():
    text = (DOCS / "batteries.md").read_text(encoding="utf-8")
    assert mixing.page() in text, "run its program again with --page docs/batteries.md"


def test_every_table_of_a_simulation_is_on_the_page():
    tables = {path.stem for path in Path(page.__file__).parent.glob("*.csv")}
    assert {name for names in page.PROGRAMS.values() for name in names} == tables
