import re

import pandas as pd

from coherence import CheckResult, Interval
from coherence.report.answer_links import AnswerLinks
from coherence.report.unit_html import effect_cells, render_unit_page, unit_context
from coherence.table.runs import Runs


def test_numbers_are_those_of_the_result():
    ends = Interval(0.01, 0.03)
    cells = effect_cells(
        CheckResult("a", "n", 0.02, "share of x", ends, 0.01, 9, 5, pvalue_holm=0.2, pvalue_bh=0.1)
    )
    assert (cells["effect"], cells["unit"], cells["interval"]) == (
        "0.0200",
        "share of x",
        "[0.0100, 0.0300]",
    )
    assert cells["adjusted"] == [("Holm", "0.200"), ("BH", "0.100")]
    assert (cells["mark"], cells["flagged"]) == ("○", False)


def test_counts_of_statuses_lead_to_the_contexts_in_which_they_occurred(unit):
    rows = pd.DataFrame({"context": ["a", "b", "c"], "p": [0.1, None, 0.3]})
    labels = pd.DataFrame(
        {"question": "standard", "status": ["ok", "refused", "repaired:percent"]}, index=rows.index
    )
    statuses = labels.value_counts().rename("rows").reset_index()
    links = AnswerLinks("unit-1", ["a", "b", "c"], most=9)
    of_unit = unit(rows=Runs(rows), labels=labels, statuses=statuses)
    table = next(
        t
        for t in unit_context(of_unit, "unit-1", links)["answer_tables"]
        if t["title"] == "Answers"
    )
    cells = dict(zip(table["headings"], table["rows"][0], strict=True))
    groups = {f"answers/unit-1.html#{group.anchor}": group.contexts for group in links.groups}
    assert groups[cells["refused"]["url"]] == ("b",)
    assert groups[cells["repaired"]["url"]] == ("c",)
    assert cells["asked"]["url"] is cells["ok"]["url"] is None


def test_a_page_of_one_unit_leads_back_and_holds_its_figures(unit):
    text = render_unit_page(unit(), "unit-7", None)
    assert 'href="../report.html"' in text
    assert len(re.findall("<svg[^>]*role", text)) == 5
    assert text.index("Choices by belief and realised state") < text.index("<h3>Checks</h3>")
