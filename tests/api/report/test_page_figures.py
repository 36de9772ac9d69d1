from xml.etree import ElementTree

import pytest

from coherence import CheckResult, monotone_choice_test
from coherence.report.answer_links import AnswerLinks
from coherence.report.page_figures import MOST_PAIRS, unit_figures


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


FIRST = ["What moves", "Choices by belief and realised state"]


def titles(unit):
    return [figure.title for figure in unit_figures(unit, "k")[0]]


def pairwise(unit):
    return next(f for f in unit_figures(unit, "k")[0] if f.title.startswith("Share of yes among"))


def test_a_unit_with_everything_misses_no_figure_and_what_moves_comes_first(unit):
    figures, missing = unit_figures(unit(), "k")
    assert [figure.title for figure in figures] == [
        *FIRST,
        "Share of yes among yes and no",
        "Beliefs by action",
        "Belief and exact posterior",
    ]
    assert missing == []
    assert all(figure.svg.startswith("<svg") for figure in figures)


def test_the_caption_says_what_was_expected_and_what_was_found(unit, pairs):
    figure = pairwise(unit())
    assert figure.caption.startswith(
        "Expected to be increasing. 1 of 10 pairs of bins are reversed, 1 significantly (dashed). "
    )
    assert figure.caption.endswith("Area of the points: 120 to 200 choices in a bin.")
    either = choice_result(pairs, direction="either", direction_tested="decreasing")
    figure = pairwise(unit(results=(either,), verdicts=("V.",)))
    assert figure.caption.startswith("Expected to be monotone (tested as decreasing). ")


def test_a_pair_that_the_settings_do_not_name_is_read_from_the_check(unit, pairs):
    result = choice_result(pairs, "wait/treat/now")
    shown = titles(unit(results=(result,), verdicts=("V.",)))
    assert shown[len(FIRST)] == "Share of wait among wait and treat/now"


@pytest.mark.parametrize(("n_pairs", "n_sentences"), [(MOST_PAIRS, 0), (MOST_PAIRS + 1, 1)])
def test_more_pairs_than_are_drawn_are_counted(unit, pairs, n_pairs, n_sentences):
    results = tuple(choice_result(pairs, f"a{number}/b") for number in range(n_pairs))
    figures, missing = unit_figures(unit(results=results, verdicts=("V.",) * n_pairs), "k")
    assert len(figures) == len(FIRST) + MOST_PAIRS + 2
    assert len(missing) == n_sentences


def test_beliefs_without_actions_are_one_histogram_and_truth_gives_calibration(unit, choices):
    beliefs = choices(p_true=False)
    assert titles(unit(results=(), verdicts=(), beliefs=beliefs)) == [
        *FIRST,
        "Beliefs by action",
        "Calibration",
    ]
    alone = unit(results=(), verdicts=(), beliefs=beliefs[["belief", "context"]])
    figures, missing = unit_figures(alone, "k")
    assert [figure.title for figure in figures] == ["Stated beliefs"]
    assert missing == [
        "No plot of choices by state: no state is known that is 0 or 1.",
        "No plot of pairwise choice: there are no readable actions.",
        "No calibration plot: neither a truth coded 0/1 nor the exact posterior is known.",
    ]


def test_every_point_that_stands_for_answers_is_a_link_to_them(unit, choices):
    runs = choices(actions=("yes", "no"))
    result = monotone_choice_test(
        runs["belief"], runs["action"], pair=("yes", "no"), context=runs["context"], rng=1
    )
    of_runs = unit(results=(result,), verdicts=("V.",), beliefs=runs)
    links = AnswerLinks("unit-1", runs["context"].unique(), most=1000)
    figures, _ = unit_figures(of_runs, "unit-1", links)
    moves, states, choice, histogram, calibration = (
        ElementTree.fromstring(figure.svg) for figure in figures
    )
    anchors = {f"answers/unit-1.html#{group.anchor}" for group in links.groups}
    for svg in (states, choice):
        assert {link.get("href") for link in svg.iter("a")} <= anchors
    n_bins = result.settings["n_bins_used"]
    assert len(list(choice.iter("a"))) == n_bins
    assert not list(histogram.iter("a"))
    assert not list(moves.iter("a"))
    contexts = [link for link in calibration.iter("a") if link.get("href") not in anchors]
    assert len(contexts) == runs["context"].nunique()
    # All choices of the pair are in one of its bins.
    in_bins = [group for group in links.groups if "pair" in group.anchor]
    assert {c for group in in_bins for c in group.contexts} == set(runs["context"].astype(str))


def test_misses_too_small_for_the_figure_of_calibration_have_one_of_their_own(unit, choices):
    close = choices().assign(belief=lambda rows: rows["p_true"] + 0.01)
    assert titles(unit(beliefs=close))[-2:] == [
        "Belief and exact posterior",
        "Exact posterior less belief",
    ]
