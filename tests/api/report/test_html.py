"""Pages and what a notebook shows. Breaks if text of a table becomes markup, or is not said."""

import dataclasses
import re
from html.parser import HTMLParser

import pandas as pd
import pytest
from jinja2 import UndefinedError

from coherence import CheckResult, Report, analyze, simulate
from coherence.report.answer_links import AnswerLinks
from coherence.report.html import (
    MOST_IN_NOTEBOOK,
    RAW_LIMIT,
    render_html,
    render_notebook,
    render_unit_page,
)
from coherence.report.pages import environment
from coherence.table.audit import Answering
from coherence.table.runs import Runs
from tests.api.report.conftest import make_report

VOID = {"meta", "br", "wbr", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Elements, attributes and text, with a check that tags are closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.stack, self.text, self.rows = [], [], [], []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if {"th", "td"} & set(self.stack):
            self.rows[-1][-1] += data

    @property
    def words(self):
        return " ".join("".join(self.text).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


BOUND_COLUMNS = ["quantity", "label", "asked", "unreadable", "estimate", "low", "high"]
RAW_COLUMNS = ["context", "status", "raw_belief", "raw_action"]
NO_BELIEFS = pd.DataFrame({"context": []})  # nothing to draw
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7*7 }}"


@pytest.fixture(scope="module")
def page_of_two():
    """The page of the report of two units: its figures are drawn once."""
    return make_report().to_html()


@pytest.fixture
def hostile(unit, pairs, choices):
    first = CheckResult(
        f"monotone_choice:{ATTACK}/no",
        ATTACK,
        0.1,
        ATTACK,
        None,
        0.01,
        10,
        5,
        settings={"pair": [ATTACK, "no"], ATTACK: ATTACK},
        details=pairs(),
        assumptions=(ATTACK,),
        reason=ATTACK,
    )
    return unit(
        task=ATTACK,
        model=ATTACK,
        results=(first,),
        verdicts=(ATTACK,),
        notes=(ATTACK,),
        beliefs=choices(actions=(ATTACK, "no")),
        statuses=pd.DataFrame(
            {"question": [ATTACK] * 2, "status": [ATTACK, f"repaired:{ATTACK}"], "rows": [1, 1]}
        ),
        bounds=pd.DataFrame([[ATTACK, ATTACK, 2, 1, 0.5, 0.1, 0.9]], columns=BOUND_COLUMNS),
        unreadable=pd.DataFrame(
            [[ATTACK, "unparsed", ATTACK, "\x1b[31m\u202eabc\ud800"]],
            columns=RAW_COLUMNS,
            dtype=object,
        ),
    )


def test_untrusted_text_stays_text(hostile):
    text = Report(
        (hostile, hostile), {"version": ATTACK, "seed": ATTACK, "checks": [ATTACK]}
    ).to_html()
    text.encode("utf-8")
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form"}
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert page.words.count("<script>alert(1)</script>") >= 10
    assert "{{ 7*7 }}" in page.words
    assert "\\x1b[31m\\u202eabc\\ud800" in page.words, (
        "control characters of a raw answer are shown as escapes"
    )


def test_page_refers_to_nothing_outside(page_of_two):
    text, page = page_of_two, Page(page_of_two)
    for _, attributes in page.elements:
        for name in ("href", "src", "xlink:href", "srcset", "action", "data"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text
    assert {
        "http-equiv": "Content-Security-Policy",
        "content": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    } in page.all("meta")


def test_ids_are_unique_and_links_lead_somewhere(page_of_two):
    page = Page(page_of_two)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    referred = {
        attributes["href"][1:]
        for _, attributes in page.elements
        if (attributes.get("href") or "").startswith("#")
    }
    referred |= {
        attributes["aria-labelledby"]
        for _, attributes in page.elements
        if "aria-labelledby" in attributes
    }
    assert referred <= set(ids)


def test_page_is_accessible(page_of_two):
    page = Page(page_of_two)
    assert page.all("html") == [{"lang": "en"}]
    assert all("scope" in heading for heading in page.all("th"))
    figures = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(page.all("figure")) == len(page.all("figcaption")) == len(figures) == 9
    # Dots stand with their numbers, which a screen reader says.
    assert len(page.all("svg")) > len(figures)


def test_everything_found_is_said(report, page_of_two):
    page = Page(page_of_two)
    for unit in report.units:
        for sentence in (
            *unit.verdicts,
            *unit.notes,
            *(result.null for result in unit.results),
            *(a for r in unit.results for a in r.assumptions),
        ):
            assert sentence in page.words
    assert "0.0312 nats" in page.words
    assert ["belief and action", "1000", "997", "3", "0.3%"] in page.rows
    assert ["mean belief: standard", "3", "0.500", "[0.498, 0.501]"] in page.rows
    assert "[0.0110, 0.0523]" in page.words
    assert "800 rows, 198 contexts, 3 left out" in page.words
    for sentence in (*report.units[0].conclusion, *report.units[0].cautions):
        assert sentence in page.words
    assert "1 of 10 pairs of bins" in page.words
    assert "coherence analyze RUNS --seed 0" in page.words


def test_the_command_names_state_and_reference_as_a_shell_reads_it(report):
    settings = {**report.settings, "positive": ["ja", "not today"], "reference": "mse"}
    bare = dataclasses.replace(report.units[0], beliefs=NO_BELIEFS)
    words = Page(Report((bare,), settings).to_html()).words
    assert "--positive ja --positive 'not today' --reference mse" in words


def test_overview_only_for_several_units(unit, page_of_two):
    assert "tests that reject" in Page(page_of_two).words
    assert "tests that reject" not in Page(Report((unit(beliefs=NO_BELIEFS),), {}).to_html()).words


def test_marks_follow_the_correction(unit):
    """A small p-value alone is a hollow mark, and no mark is in the colour of a rejection."""
    fields = ("cmi", "n", 0.1, "nats", None, 0.03, 10, 5)
    for holm, mark, flagged in ((0.04, "● 0.030", True), (0.06, "○ 0.030", False)):
        result = CheckResult(*fields, pvalue_holm=holm, n_tests=2)
        text = Report(
            (unit(results=(result,), verdicts=("V.",), beliefs=NO_BELIEFS),), {}
        ).to_html()
        assert mark in Page(text).words
        assert ('class="flag"' in text) == flagged
    kept = CheckResult("cmi", "n", 0.0, "nats", None, 0.5, 10, 5)
    words = Page(
        Report((unit(results=(kept,), verdicts=("V.",), beliefs=NO_BELIEFS),), {}).to_html()
    ).words
    assert "●" not in words
    assert "○" not in words


@pytest.mark.lengthy
def test_titles_name_the_kind_of_belief(unit):
    revealed = unit(answering=Answering({"revealed": 100}), verdicts=("V.",) * 5)
    words = Page(Report((revealed,), {}).to_html()).words
    assert "Could the revealed belief be the belief acted on?" in words
    assert "Histograms of the revealed belief" in words
    assert "stated belief" not in words
    mixed = Page(Report((revealed, unit()), {}).to_html()).words
    assert "Could these beliefs be the ones acted on?" in mixed


@pytest.mark.lengthy
def test_long_raw_answers_are_cut_with_a_note(unit):
    words = Page(Report((unit(beliefs=NO_BELIEFS),), {}).to_html()).words
    assert f"(cut after {RAW_LIMIT} of 690 characters)" in words
    assert words.count("I would rather not say") <= RAW_LIMIT // 23 + 1


def test_missing_figures_are_explained(unit, choices):
    said = ("No check could be run.", "Nothing here speaks for or against coherence.")
    without = unit(results=(), verdicts=(), beliefs=NO_BELIEFS, conclusion=said)
    words = Page(Report((without,), {}).to_html()).words
    assert "No check could be run." in words
    assert "No plot of pairwise choice" in words
    assert "No plots of the belief" in words
    many = Page(
        Report((unit(beliefs=choices(p_true=False).assign(truth="sunny")),), {}).to_html()
    ).words
    assert "No calibration plot" in many


@pytest.mark.lengthy
def test_only_the_strongest_of_many_pairs_are_drawn(unit, pairs):
    results = tuple(
        CheckResult(
            f"monotone_choice:a{i}/b",
            "n",
            0.1,
            "share",
            None,
            1 / (i + 1),
            10,
            5,
            settings={"pair": [f"a{i}", "b"]},
            details=pairs(),
        )
        for i in range(10)
    )
    page = Page(Report((unit(results=results, verdicts=("V.",) * 10),), {}).to_html())
    titles = re.findall(r"Share of (a\d) among", page.words)
    assert set(titles) == {"a9", "a8", "a7", "a6", "a5", "a4"}
    assert "Of 10 pairs of actions, the 6 with the strongest evidence" in page.words


def test_equal_reports_give_equal_pages(report, page_of_two):
    assert report.to_html() == page_of_two


def test_empty_report():
    assert "no rows" in Page(Report((), {}).to_html()).words


@pytest.mark.lengthy
def test_the_subtitle_counts_results(unit):
    """A check of pairs has a result for each; their names were once called checks."""
    names = ("cmi", "monotone_choice:a/b", "monotone_choice:a/c")
    results = tuple(CheckResult(name, "n", 0.1, "nats", None, None, 9, 3) for name in names)
    units = [unit(model=f"m{at}", results=results, verdicts=("V.",) * 3) for at in range(2)]
    assert "2 units (task · model) · 6 results" in Page(Report(units, {}).to_html()).words
    alone = unit(
        results=(CheckResult("cmi", "n", 0.1, "nats", None, None, 1, 1),), verdicts=("V.",)
    )
    words = Page(Report((alone,), {}).to_html()).words
    assert "1 unit (task · model) · 1 result" in words
    assert "1 row, 1 context" in words
    assert not re.search(r"\b1 (units|tests|rows|contexts|results|checks)\b", words)


ALERT = "no <context> column"


def test_an_alert_stands_beside_the_answer_and_not_below(unit):
    of = unit(notes=("a note", ALERT), alerts=(ALERT,), beliefs=NO_BELIEFS)
    page = render_html([of], {})
    caution = '<p class="alert"><strong>Warning:</strong> no &lt;context&gt; column</p>'
    assert page.count("no &lt;context&gt; column") == 1
    assert page.index(of.conclusion[1]) < page.index(caution) < page.index("<h3>Checks")
    assert "<li>a note</li>" in page


def test_an_alert_of_all_units_is_said_once_above_their_answers_and_of_some_with_each(unit):
    plain = unit(results=(), verdicts=(), beliefs=NO_BELIEFS)
    alone = dataclasses.replace(plain, model="alone", notes=(ALERT,), alerts=(ALERT,))
    caution = "<strong>Warning:</strong>"
    pages = [render_html(units, {}) for units in ([alone, alone], [plain, alone])]
    assert pages[0].index(caution) < pages[0].index("<table>")
    assert pages[1].count(caution) == 1
    assert pages[1].index('id="unit-2"') < pages[1].index(caution)


def test_of_many_units_the_ranking_comes_before_what_is_said_of_each(unit):
    difference = "P(yes | 1) - P(yes | not 1)"

    def of(model, measure, **settings):
        result = CheckResult("cmi", "n", 0.1, measure, None, 0.5, 9, 9, settings=settings)
        return unit(model=model, results=(result,), verdicts=("V.",), beliefs=NO_BELIEFS)

    units = [of(f"m{at}", "belief") for at in range(3)]
    page = render_html([*units, of("m3", "probability", component=difference)], {})
    assert page.index("<table>") < page.index('<dl class="said">')
    assert page.count('<th scope="rowgroup" colspan="5" class="soft small"') == 2
    overview = page[page.index('<h2 id="answers">') : page.index('<dl class="said">')]
    assert overview.count(difference) == 1


def test_templates_escape_and_do_not_forgive():
    template = environment().from_string("{{ x }}")
    assert template.render(x="<b>") == "&lt;b&gt;"
    with pytest.raises(UndefinedError):
        template.render()


def test_settings_are_sorted_clean_and_of_one_line():
    settings = {"b": None, "a": [1, "x\ny"], "c": "t\x1b[31m"}
    rows = Page(Report((), settings).to_html()).rows
    assert rows[1:] == [["a", '[1, "x\\ny"]'], ["b", "–"], ["c", "t"]]


# One unit among many


def test_counts_of_statuses_lead_to_the_contexts_in_which_they_occurred(unit):
    rows = pd.DataFrame({"context": ["a", "b", "c"], "p": [0.1, None, 0.3]})
    labels = pd.DataFrame(
        {"question": "standard", "status": ["ok", "refused", "repaired:percent"]}, index=rows.index
    )
    statuses = labels.value_counts().rename("rows").reset_index()
    links = AnswerLinks("unit-1", ["a", "b", "c"], most=9)
    of_unit = unit(rows=Runs(rows), labels=labels, statuses=statuses, beliefs=NO_BELIEFS)
    page = render_unit_page(of_unit, "unit-1", links)
    assert {group.title: group.contexts for group in links.groups} == {
        "Status refused, standard": ("b",),
        "Status repaired, standard": ("c",),
    }
    for group in links.groups:
        assert page.count(f'href="answers/unit-1.html#{group.anchor}"') == 1


def test_a_page_of_one_unit_leads_back_and_holds_its_figures(unit):
    text = render_unit_page(unit(), "unit-7", None)
    assert 'href="../report.html"' in text
    assert len(re.findall("<svg[^>]*role", text)) == 5
    assert text.index("Choices by belief and realised state") < text.index("<h3>Checks</h3>")


# A notebook


@pytest.fixture(scope="module")
def analyzed():
    runs = simulate("leaky", n_contexts=40, n_reps=3, rng=1)
    hostile = runs.assign(model="<img src=x>", task="<b>")
    return analyze(hostile, checks=["residual_covariance", "calibration"], rng=1)


def test_a_repr_is_a_line_and_a_notebook_shows_the_results(analyzed):
    assert repr(analyzed) == f"<Report: task x model units 1, results {len(analyzed.results)}>"
    page = analyzed._repr_html_()
    assert "<img" not in page
    assert "<b>" not in page
    for check in analyzed.results["check"]:
        assert f"<td>{check}</td>" in page
    for sentence in analyzed.units[0].conclusion:
        assert sentence.split(":")[0][:30] in page


def test_brief_is_what_one_reads_first(analyzed):
    columns = ["task", "model", "check", "statistic", "low", "high", "pvalue", "pvalue_holm"]
    pd.testing.assert_frame_equal(analyzed.brief, analyzed.results[columns])


def test_many_units_do_not_fill_a_notebook(analyzed):
    page = render_notebook(analyzed.units * (MOST_IN_NOTEBOOK + 2))
    assert page.count("<h4>") == MOST_IN_NOTEBOOK
    assert "2 more; to_html() has all." in page
    assert "no rows" in render_notebook([])


def test_an_alert_is_shown_with_the_answer(analyzed):
    (unit,) = analyzed.units
    page = render_notebook([dataclasses.replace(unit, alerts=("<b>no context",))])
    assert "<strong>Warning: &lt;b&gt;no context</strong>" in page
