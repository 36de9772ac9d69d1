import pytest

from coherence.report.page_figures import MOST_PAIRS, unit_figures
from coherence.result import CheckResult


def choice_result(pairs, name="yes/no", **settings):
    return CheckResult(
        f"monotone_choice:{name}",
        "n",
        0.1,
        "share",
        None,
        0.01,
        10,
        5,
        settings=settings,
        details=pairs(),
    )


def titles(unit):
    return [figure.title for figure in unit_figures(unit, "k")[0]]


def test_a_unit_with_everything_has_three_figures_and_misses_none(unit):
    figures, missing = unit_figures(unit(), "k")
    assert [figure.title for figure in figures] == [
        "Share of yes among yes and no",
        "Beliefs by action",
        "Belief and exact posterior",
    ]
    assert missing == []
    assert all(figure.svg.startswith("<svg") for figure in figures)


def test_the_caption_says_what_was_expected_and_what_was_found(unit, pairs):
    (figure, *_), _ = unit_figures(unit(), "k")
    assert figure.caption.startswith(
        "Expected to be increasing. 1 of 10 pairs of bins are reversed, 1 significantly (dashed). "
    )
    assert figure.caption.endswith("Area of the points: 120 to 200 choices in a bin.")
    either = choice_result(pairs, direction="either", direction_tested="decreasing")
    (figure, *_), _ = unit_figures(unit(results=(either,), verdicts=("V.",)), "k")
    assert figure.caption.startswith("Expected to be monotone (tested as decreasing). ")


def test_a_pair_that_the_settings_do_not_name_is_read_from_the_check(unit, pairs):
    result = choice_result(pairs, "wait/treat/now")
    assert titles(unit(results=(result,), verdicts=("V.",)))[0] == (
        "Share of wait among wait and treat/now"
    )


@pytest.mark.parametrize(("n_pairs", "n_sentences"), [(MOST_PAIRS, 0), (MOST_PAIRS + 1, 1)])
def test_more_pairs_than_are_drawn_are_counted(unit, pairs, n_pairs, n_sentences):
    results = tuple(choice_result(pairs, f"a{number}/b") for number in range(n_pairs))
    figures, missing = unit_figures(unit(results=results, verdicts=("V.",) * n_pairs), "k")
    assert len(figures) == MOST_PAIRS + 2
    assert len(missing) == n_sentences


def test_beliefs_without_actions_are_one_histogram_and_truth_gives_calibration(unit, choices):
    beliefs = choices(p_true=False)
    assert titles(unit(results=(), verdicts=(), beliefs=beliefs)) == [
        "Beliefs by action",
        "Calibration",
    ]
    alone = unit(results=(), verdicts=(), beliefs=beliefs[["belief", "context"]])
    figures, missing = unit_figures(alone, "k")
    assert [figure.title for figure in figures] == ["Stated beliefs"]
    assert missing == [
        "No plot of pairwise choice: there are no readable actions.",
        "No calibration plot: neither a truth coded 0/1 nor the exact posterior is known.",
    ]
