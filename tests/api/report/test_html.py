"""Pages and what a notebook shows. Breaks if text of a table becomes markup, or is not said."""

import dataclasses
import html
import shlex
from html.parser import HTMLParser

import pandas as pd
import pytest

from coherence import CheckResult, Report, analyze, simulate
from coherence.report.terminal import render_report
from coherence.statistics.figure_tables import FigureTables
from coherence.table.notes import Code, Level, Note
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
        notes=(Note(Code.UNREAD, ATTACK),),
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
    for unit in report.evaluations:
        for sentence in (
            *unit.verdicts,
            *map(str, unit.notes),
            *(result.null for result in unit.results),
            *(a for r in unit.results for a in r.assumptions),
        ):
            assert sentence in page.words
    assert "0.0312 nats" in page.words
    assert ["belief and action", "1,000", "997", "3", "0.3%"] in page.rows
    assert ["mean belief: standard", "3", "0.500", "[0.498, 0.501]"] in page.rows
    assert "[0.0110, 0.0523]" in page.words
    assert "800 rows, 198 contexts, 3 left out" in page.words
    for sentence in (*report.evaluations[0].conclusion, *map(str, report.evaluations[0].cautions)):
        assert sentence in page.words
    assert "1 of 10 pairs of bins" in page.words
    assert "coherence analyze RUNS --seed 0" in page.words


def test_the_command_is_written_as_a_shell_reads_it(report):
    settings = report.settings | {
        "file": "my runs; rm -rf.csv",
        "reading": ["--belief=my p", "--percent"],
        "seed": 3,
        "positive": ["ja", "not today"],
        "reference": "mse",
        "twins": 50,
        "merge_labels": False,
        "checks": ["cmi", "calibration"],
    }
    bare = dataclasses.replace(report.evaluations[0], figures=FigureTables())
    words = Page(Report((bare,), settings).to_html()).words
    command = words[words.index("coherence analyze 'my runs") :]
    assert shlex.split(command[: command.index("calibration") + len("calibration")]) == [
        *("coherence", "analyze", "my runs; rm -rf.csv", "--belief=my p", "--percent"),
        *("--seed", "3", "--twin", "50", "--positive", "ja", "--positive", "not today"),
        *("--reference", "mse", "--no-merge-labels", "--checks", "cmi,calibration"),
    ]


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


ALERT = "no <context> column"


def test_an_alert_stands_beside_the_answer_and_not_below(unit):
    notes = (Note(Code.LEFT_OUT, "a note"), Note(Code.NO_CONTEXT, ALERT, Level.ALERT))
    of = unit(notes=notes, beliefs=NO_BELIEFS)
    page = Report((of,), {}).to_html()
    caution = '<p class="alert"><strong>Warning:</strong> no &lt;context&gt; column</p>'
    assert page.count("no &lt;context&gt; column") == 1
    assert page.index(caution) < page.index(of.conclusion[1]) < page.index('class="figures"')
    assert "<li>a note</li>" in page


@pytest.mark.lengthy
def test_a_page_is_read_in_the_order_of_the_screen():
    """Breaks if page and screen say something else, or the page opens with anything else."""
    runs = [simulate(agent, n_contexts=40, n_reps=3, rng=1) for agent in ("leaky", "rational")]
    of = analyze(pd.concat(runs), checks=["sufficiency", "calibration"], rng=1)
    text = of.to_html()
    verdicts = [html.escape(e.conclusion[0]).replace("&quot;", "&#34;") for e in of.evaluations]
    parts = [*verdicts, "95% intervals", '<div class="figures">', "<details>", "<summary>Checks"]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert all(text.count(verdict) == 1 for verdict in verdicts)
    page, screen = Page(text), render_report(of.evaluations, width=100)
    [row] = [cells for cells in page.rows if cells[:1] == ["choice at equal belief, points"]]
    assert len(row) == 3
    assert all(cell in screen for cell in row)
    assert page.words.count("Next:") == screen.count("Next:")


@pytest.fixture(scope="module")
def analyzed():
    runs = simulate("leaky", n_contexts=40, n_reps=3, rng=1)
    hostile = runs.assign(model="<img src=x>", task="<b>")
    return analyze(hostile, checks=["residual_covariance", "calibration"], rng=1)


def test_a_repr_is_a_line_and_a_notebook_shows_the_results(analyzed):
    assert repr(analyzed) == f"<Report: evaluations 1, results {len(analyzed.results)}>"
    page = analyzed._repr_html_()
    assert "<img" not in page
    assert "<b>" not in page
    for check in analyzed.results["check"]:
        assert f'<th scope="row">{check}</th>' in page
    for sentence in analyzed.evaluations[0].conclusion:
        assert sentence.split(":")[0][:30] in page
