"""Pages of answers. Breaks if a long answer fills a page, or an untrusted one becomes markup."""

import html
import re
from functools import partial

import pandas as pd
import pytest

from coherence.checks.sufficiency_result import Sufficiency
from coherence.report.answers import FOLDED_FROM, PER_PAGE, answer_pages, raw_markup
from coherence.runs.runs import Runs

ATTACK = "</script><script>alert(1)</script><a href='javascript:x'><img onerror=x>\"\u2028{{ 7*7 }}"
FIRST = "evaluation-1-page-1.html"


def made_rows(n, n_reps=2):
    at = pd.Series(range(n * n_reps))
    columns = {"context": "c" + (at // n_reps).astype(str), "rep": at % n_reps, "p": at / at.size}
    columns |= {"prompt": "standard", "action": "yes", "theta": at // n_reps % 2, "p_true": 0.25}
    columns |= {"x_fever_now": "high", "z_state": None, "status": "ok"}
    return pd.DataFrame(columns | {"raw_belief": "I say " + at.astype(str)})


def pages_of(unit, rows, most=1000):
    back = "../report.html#evaluation-1"
    return dict(answer_pages(unit(rows=Runs(rows)), "evaluation-1", most=most, back=back))


def test_each_context_is_shown_with_evidence_state_posterior_and_every_answer(unit):
    pages = pages_of(unit, made_rows(PER_PAGE + 1))
    assert list(pages) == ["evaluation-1.html", FIRST, "evaluation-1-page-2.html"]
    second = pages["evaluation-1-page-2.html"]
    assert re.findall(r'<section class="case" id="([^"]+)"', second) == [f"context-{PER_PAGE + 1}"]
    shown = html.unescape(re.sub(r"<[^>]+>", " ", second))
    for said in ("fever now", "high", "state", "exact posterior", "0.25", "I say 200", "I say 201"):
        assert said in " ".join(shown.split())
    assert "I say 199" not in second
    assert pages[FIRST].count("<tr><td>") == 2 * PER_PAGE


def test_untrusted_text_stays_text_and_names_no_file(unit):
    evil = {"x_fever_now": ATTACK, "status": ATTACK, "raw_belief": f"{ATTACK}\x1b[31m"}
    contexts = ["../../x<i>"] * 2 + [ATTACK] * 2
    rows = made_rows(2).assign(context=contexts, action=[ATTACK, "no"] * 2, **evil)
    evaluation = partial(unit, task=ATTACK, state_names=(ATTACK, "ill"))
    pages = pages_of(evaluation, rows)
    assert set(pages) == {"evaluation-1.html", FIRST}
    for text in pages.values():
        assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:\"" in text
        shown = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
        assert not re.search(r"<(script|img|iframe|object|form)", shown)
        assert "javascript:" not in re.sub(r">[^<]*<", "><", shown)
        assert not re.search(r"<[^>]* on[a-z]+=", shown)
        assert "49" not in shown
    assert "\\x1b[31m" in pages[FIRST]
    hrefs = {h for text in pages.values() for h in re.findall(r'href="([^"]*)"', text)}
    assert all(re.fullmatch(r"[a-z0-9./#-]*", href) for href in hrefs)


def test_what_moves_the_result_comes_first(unit):
    added = pd.Series([0.001, -0.03, 0.02, 0.0], index=["c0", "c1", "c2", "c3"])
    fields = ("sufficiency", "null", 0.1, "probability", None, 0.01, 8, 4)
    primary = Sufficiency(*fields, contributions=added)
    of = unit(rows=Runs(made_rows(4)), results=(primary,), verdicts=("",))
    pages = dict(answer_pages(of, "evaluation-1", most=3, back="../report.html"))
    names = re.findall(r'<h2 id="name-\d+" class="about">Case (c\d)', pages[FIRST])
    assert names == ["c1", "c2", "c0"]
    index = pages["evaluation-1.html"]
    assert re.findall(r"<td>([+-][\d.]+)</td>", index) == ["-3", "+2", "+0.1"]
    assert "3 of 4 cases, those that move the result most" in index


def test_the_table_of_cases_counts_labels_that_differ(unit):
    rows = made_rows(2).assign(action=["yes", "no", None, "yes"])
    index = pages_of(partial(unit, state_names=("healthy", "ill")), rows)["evaluation-1.html"]
    cells = [re.findall(r"<td>([^<]*)</td>", row) for row in re.findall(r"<tr><td.*", index)]
    assert [row[0] for row in cells] == ["healthy", "ill"]
    assert [row[-2] for row in cells] == ["yes 1, no 1", "yes 1"]
    assert ">status<" not in index, "it is the same in all"


def test_a_question_is_shown_once_for_its_case_and_prompt(unit):
    rows = made_rows(2).assign(asked="Is it\nso?", asked_action="What <do> you do?")
    rows.loc[3, ["prompt", "asked"]] = ["mse", "Brier: is it so?"]
    page = html.unescape(pages_of(unit, rows)[FIRST])
    assert page.count('<pre class="about">Is it\nso?</pre>') == 2
    assert page.count('<pre class="about">What <do> you do?</pre>') == 2
    assert page.count('<span class="soft">Asked for belief, mse:</span> Brier: is it so?') == 1


# Raw answers in cells


@pytest.mark.parametrize("filler", ["", "x" * FOLDED_FROM])
def test_a_long_answer_is_folded_and_stays_text(filler):
    shown = str(raw_markup("</summary><script>alert(1)</script>{0}{x}\x1b[31m" + filler))
    names = {"summary", "/summary", "div", "/div", 'details class="long"', "/details"}
    assert set(re.findall(r"<([^>]+)>", shown)) <= names
    assert "\x1b" not in shown
