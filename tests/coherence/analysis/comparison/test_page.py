import re
from html import escape
from html.parser import HTMLParser

import pytest

from coherence import compare


class Reader(HTMLParser):
    """Collects tags and the texts of table cells."""

    def __init__(self):
        super().__init__()
        self.tags, self.cells, self.inside = [], [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside = tag in ("td", "th")
        if self.inside:
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


def read(page):
    reader = Reader()
    reader.feed(page)
    return reader


@pytest.mark.lengthy
def test_the_page_shows_what_the_tables_hold(compared):
    page = compared.to_html()
    reader = read(page)
    assert escape(compared.summary).replace("&#x27;", "&#39;") in page
    assert reader.tags.count("svg") == compared.estimates["effect"].nunique()
    assert reader.tags.count("table") == 2 * compared.estimates["effect"].nunique()
    row = compared.estimates.query("effect == 'report_noise' and model == 'heaping'").iloc[0]
    assert f"{row['estimate']:.3f}" in reader.cells
    for note in compared.notes:
        assert escape(note).replace("&#x27;", "&#39;") in page
    assert page == compared.to_html()


@pytest.mark.lengthy
def test_the_page_loads_nothing_and_runs_nothing(compared):
    page = compared.to_html()
    assert "script" not in read(page).tags
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!#)', page)


def test_names_are_text_and_no_markup(asked):
    evil = "<img src=x onerror=alert(1)>"
    runs = {evil: asked["rational"].drop(columns="model"), "b": asked["heaping"]}
    tagged = {name: table.assign(task="<b>task</b>") for name, table in runs.items()}
    page = compare(tagged, effects=["calibration:brier"], rng=1).to_html()
    assert "img" not in read(page).tags
    assert "b" not in read(page).tags
    assert "&lt;b&gt;task" in page


@pytest.mark.lengthy
def test_a_model_that_is_left_out_is_named_below_the_picture(asked):
    tables = asked | {"rational": asked["rational"].drop(columns="action")}
    page = compare(tables, effects=["residual_covariance"], rng=1).to_html()
    assert "Without rational: no readable belief with a readable action" in page
