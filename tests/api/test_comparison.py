"""What a comparison prints, writes and draws. Breaks if a face shows other numbers or markup."""

import json
import re
from html import escape
from xml.etree import ElementTree

import pytest

from coherence import Comparison, compare

QUICK = ["calibration:brier", "report_noise"]


def test_text_names_every_effect_estimate_rank_and_letter(compared):
    text = str(compared)
    assert text.startswith("simulated, 100 cases\n")
    for effect in dict.fromkeys(compared.estimates["effect"]):
        assert f"\n{effect}: " in text
    row = compared.estimates.query("effect == 'report_noise' and model == 'heaping'").iloc[0]
    assert re.search(
        rf"heaping +{row['estimate']:.3f} \[[.\d]+, [.\d]+\] +3  {row['letters']}\n", text
    )
    assert compared.summary in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80
    tested = compared.differences.dropna(subset="pvalue")
    n_bh = int((tested["pvalue_bh"] <= 0.05).sum())
    assert 0 < n_bh < len(tested)
    assert compared.summary.startswith(f"{len(tested)} pairs of models and effects were compared")
    assert f"{n_bh} differ at a false discovery rate of 5%" in compared.summary


def test_json_holds_every_number_unrounded(compared):
    record = json.loads(compared.to_json())
    for name in ("estimates", "differences"):
        table = getattr(compared, name)
        assert len(record[name]) == len(table)
        first = table.iloc[0]
        value = "estimate" if name == "estimates" else "difference"
        assert record[name][0][value] == first[value]
    assert record["settings"]["n_contexts"] == {"simulated": 100}
    assert record["notes"] == list(compared.notes)


@pytest.mark.lengthy
def test_hostile_names_reach_no_terminal(asked):
    evil = "\x1b[31mred\x1b[0m\nnote: all is well"
    runs = {evil: asked["rational"].drop(columns="model"), "b": asked["heaping"]}
    text = str(compare(runs, effects=QUICK, rng=1))
    assert "\x1b" not in text
    assert "\nnote: all is well" not in text


@pytest.mark.lengthy
def test_the_page_shows_what_the_tables_hold(compared):
    page = compared.to_html()
    n_effects = compared.estimates["effect"].nunique()
    assert (page.count("<svg"), page.count("<table")) == (n_effects, 2 * n_effects)
    row = compared.estimates.query("effect == 'report_noise' and model == 'heaping'").iloc[0]
    assert re.search(rf"<td[^>]*>{row['estimate']:.3f} ", page)
    for said in (compared.summary, *compared.notes):
        assert escape(said).replace("&#x27;", "&#39;") in page
    assert page == compared.to_html()
    # It loads nothing and runs nothing.
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!#)', page)


def test_names_are_text_and_no_markup(asked):
    evil = "<img src=x onerror=alert(1)>"
    runs = {evil: asked["rational"].drop(columns="model"), "b": asked["heaping"]}
    tagged = {name: table.assign(task="<b>task</b>") for name, table in runs.items()}
    page = compare(tagged, effects=["calibration:brier"], rng=1).to_html()
    assert "<img" not in page
    assert "<b>" not in page
    assert "&lt;b&gt;task" in page


@pytest.mark.lengthy
def test_the_picture_is_the_same_for_equal_tables_and_holds_no_markup(compared):
    evil = "<script>alert(1)</script> $x^2$"
    named = compared.estimates.replace({"model": {"heaping": evil}})
    drawn = Comparison(named, compared.differences, compared.notes, compared.settings)
    svg = drawn.to_svg()
    assert svg == drawn.to_svg()
    assert "<script" not in svg
    assert "<script>" in "".join(ElementTree.fromstring(svg).itertext())
