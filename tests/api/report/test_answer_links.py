from itertools import pairwise

import pytest

from coherence.report.answer_links import PER_PAGE, AnswerLinks


def test_addresses_hold_numbers_and_no_name_of_the_table():
    links = AnswerLinks("unit-2", ["../../etc/passwd", "<b>"], most=10)
    assert links.context("../../etc/passwd") == "answers/unit-2-page-1.html#context-1"
    assert links.context("<b>") == "answers/unit-2-page-1.html#context-2"
    assert links.context("unknown") is None
    assert links.group("bin-1", "Bin 1", ["<b>"]) == "answers/unit-2.html#bin-1"


@pytest.mark.parametrize(("n", "most"), [(PER_PAGE + 1, 1000), (1000, 30), (3, 1), (5, 0)])
def test_no_more_contexts_than_asked_for_are_shown_and_evenly_spaced(n, most):
    links = AnswerLinks("unit-1", range(n), most=most)
    assert len(links.shown) == min(n, most)
    assert links.n_pages == -(-len(links.shown) // PER_PAGE)
    numbers = [int(context) for context in links.shown]
    steps = {b - a for a, b in pairwise(numbers)}
    assert max(steps, default=0) - min(steps, default=0) <= 1


def test_a_group_lists_each_context_once():
    links = AnswerLinks("unit-1", ["a", "b"], most=5, base="../answers/")
    assert links.group("g", "Group", ["b", "a", "b"]) == "../answers/unit-1.html#g"
    assert links.groups[0].contexts == ("b", "a")


def test_contexts_of_any_type_are_found_by_what_the_report_calls_them():
    links = AnswerLinks("unit-1", [1, 2.5, ("x", 1)], most=5)
    assert links.context(2.5) == links.context("2.5") is not None
