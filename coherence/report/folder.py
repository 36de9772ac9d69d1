"""A report as files of a folder: the page, pages of units where they are many, pages of answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from coherence.report.answer_html import answer_pages
from coherence.report.answer_links import AnswerLinks
from coherence.report.html import render_html, unit_page_name
from coherence.report.ranking import FEW, unit_key
from coherence.report.unit import Unit
from coherence.report.unit_html import render_unit_page

REPORT = "report.html"
SUBFOLDERS = {
    "units": r"unit-[0-9]+\.html",
    "answers": r"unit-[0-9]+(-page-[0-9]+)?\.html",
}
"""Folders that a report writes beside its page, and the names of all files that it writes there."""


def report_files(
    units: Sequence[Unit], settings: Mapping[str, Any], *, most_answers: int
) -> Iterator[tuple[str, str]]:
    """Render all files of a report, the page that links to the others last."""
    split = len(units) > FEW
    links: dict[str, AnswerLinks] = {}
    for number, unit in enumerate(units, start=1):
        key = unit_key(number)
        if most_answers and len(unit.rows):
            contexts = unit.rows.table["context"].drop_duplicates().tolist()
            base = "../answers/" if split else "answers/"
            links[key] = AnswerLinks(key, contexts, most=most_answers, base=base)
        if split:
            # Drawing a unit's figures tells which groups are linked to.
            yield unit_page_name(key), render_unit_page(unit, key, links.get(key))
    page = render_html(units, settings, links=links, split=split)
    for number, unit in enumerate(units, start=1):
        key = unit_key(number)
        back = f"../{unit_page_name(key)}" if split else f"../{REPORT}#{key}"
        if key in links:
            for name, text in answer_pages(unit, links[key], back=back):
                yield f"answers/{name}", text
    yield REPORT, page
