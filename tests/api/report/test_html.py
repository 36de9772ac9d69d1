"""Pages and what a notebook shows. Breaks if text of a table becomes markup, or is not said."""

import dataclasses
import shlex
from html.parser import HTMLParser

import pandas as pd
import pytest

from coherence import CheckResult, Report, analyze, simulate
from coherence.checks.monotone import MonotoneResult
from coherence.runs.notes import Code, Note
from tests.api.report.conftest import STATUS_COLUMNS, make_report

VOID = {"meta", "br", "wbr", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Elements, attributes and text, with a check that tags are closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.stack, self.text, self.rows = [], [], [], []
        self.feed(text)
        self.close()
        assert self.stack == []
        self.words = " ".join("".join(self.text).split())

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

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


NO_BELIEFS = pd.DataFrame({"context": []})  # nothing to draw
ATTACK = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7*7 }}"


@pytest.fixture(scope="module")
def page_of_two():
    """The page of the report of two units: its figures are drawn once."""
    return make_report().to_html()


def test_untrusted_text_stays_text(unit, pairs, choices):
    fields = (f"monotone_choice:{ATTACK}/no", ATTACK, 0.1, ATTACK, None, 0.01, 10, 5, 0)
    of_table = {"details": pairs(), "pair": [ATTACK, "no"], "settings": {ATTACK: ATTACK}}
    first = MonotoneResult(*fields, assumptions=(ATTACK,), reason=ATTACK, **of_table)
    statuses = [[ATTACK, ATTACK, 1], [ATTACK, f"repaired:{ATTACK}", 1]]
    hostile = unit(
        *(ATTACK, ATTACK, choices(actions=(ATTACK, "no"))),
        **{"results": (first,), "verdicts": (ATTACK,), "notes": (Note(Code.UNREAD, ATTACK),)},
        statuses=pd.DataFrame(statuses, columns=STATUS_COLUMNS),
    )
    options = {"version": ATTACK, "seed": ATTACK, "checks": [ATTACK]}
    text = Report((hostile,), options).to_html()
    text.encode("utf-8")
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form"}
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert page.words.count("<script>alert(1)</script>") >= 10
    assert "{{ 7*7 }}" in page.words


def test_page_refers_to_nothing_outside_and_links_lead_somewhere(page_of_two):
    text, page = page_of_two, Page(page_of_two)
    for _, attributes in page.elements:
        for name in ("href", "src", "xlink:href", "srcset", "action", "data"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert {"http-equiv": "Content-Security-Policy", "content": policy} in page.all("meta")
    named = {
        name: [attributes[name] for _, attributes in page.elements if attributes.get(name)]
        for name in ("id", "href", "aria-labelledby")
    }
    assert len(named["id"]) == len(set(named["id"]))
    hrefs = [href[1:] for href in named["href"]]
    assert {*hrefs, *named["aria-labelledby"]} <= set(named["id"])
    # Figures are described, and headings of tables say what they head.
    assert page.all("html") == [{"lang": "en"}]
    assert all("scope" in heading for heading in page.all("th"))
    figures = [svg for svg in page.all("svg") if svg.get("role") == "img"]
    assert len(page.all("figure")) == len(page.all("figcaption")) == len(figures) == 4


def test_everything_found_is_said(report, page_of_two):
    page = Page(page_of_two)
    for unit in report.evaluations:
        assumed = (each for r in unit.results for each in (r.null, *r.assumptions))
        notes = unit.notes
        for sentence in (*unit.verdicts, *unit.conclusion, *map(str, notes), *assumed):
            assert sentence in page.words
    assert ["belief and action", "1,000", "997", "3", "0.3%"] in page.rows
    (row,) = [row for row in page.rows if "yes/no" in row[0] and "0.100 share of pairs" in row]
    told = ["0.100 share of pairs", "[0.000, 0.300]", "● <0.001", "–", "198", "800", "3"]
    assert row[1:] == told
    for said in ("0.0312 nats", "[0.0110, 0.0523]"):
        assert said in page.words
    assert "coherence analyze RUNS --seed 0" in page.words


def test_the_command_is_written_as_a_shell_reads_it(report):
    settings = {"file": "my runs; rm -rf.csv", "reading": ["--belief=my p", "--percent"]}
    settings |= {"seed": 3, "positive": ["ja", "not today"], "reference": "mse"}
    settings |= {"checks": ["cmi", "calibration"]}
    bare = dataclasses.replace(report.evaluations[0], figures={})
    words = Page(Report((bare,), report.settings | settings).to_html()).words
    command = words[words.index("coherence analyze 'my runs") :]
    assert shlex.split(command[: command.index("calibration") + len("calibration")]) == [
        *("coherence", "analyze", "my runs; rm -rf.csv", "--belief=my p", "--percent"),
        *("--seed", "3", "--positive", "ja", "--positive", "not today"),
        *("--reference", "mse", "--checks", "cmi,calibration"),
    ]


def test_marks_follow_the_correction(unit):
    """A small p-value alone is a hollow mark, and no mark is in the colour of a rejection."""
    cases = ((0.03, 0.04, "● 0.030", True), (0.03, 0.06, "○ 0.030", False), (0.5, None, "", False))
    for pvalue, holm, mark, flagged in cases:
        fields = ("cmi", "n", 0.1, "nats", None, pvalue, 10, 5)
        result = CheckResult(*fields, pvalue_holm=holm, n_tests=2)
        of = unit(results=(result,), verdicts=("V.",), beliefs=NO_BELIEFS)
        text = Report((of,), {}).to_html()
        words = Page(text).words
        assert mark in words
        assert mark or not {"●", "○"} & set(words)
        assert ('<tr class="flag">' in text) == flagged


def test_a_repr_is_a_line_and_a_notebook_shows_the_results():
    runs = simulate("leaky", n_contexts=40, n_reps=3, rng=1).assign(model="<img src=x>", task="<b>")
    analyzed = analyze(runs, checks=["sufficiency", "calibration"], rng=1)
    assert repr(analyzed) == f"<Report: evaluations 1, results {len(analyzed.results)}>"
    page = analyzed._repr_html_()
    assert "<img" not in page
    assert "<b>" not in page
    for check in analyzed.results["check"]:
        assert f"({check})</th>" in page
    for sentence in analyzed.evaluations[0].conclusion:
        assert sentence.split(":")[0][:30] in page
