"""Pages of answers. Breaks if a long answer fills a page, or an untrusted one becomes markup."""

import base64
import hashlib
import html
import json
import re
from functools import partial

import pandas as pd
import pytest

from coherence import CheckResult
from coherence.report.answer_links import PER_PAGE, AnswerLinks
from coherence.report.answers import (
    FOLDED_FROM,
    answer_pages,
    moves,
    raw_markup,
)
from coherence.report.pages import script
from coherence.result import Family
from coherence.runs.runs import Runs

ATTACK = "</script><script>alert(1)</script><a href='javascript:x'><img onerror=x>\"\u2028{{ 7*7 }}"
FIRST = "evaluation-1-page-1.html"


def made_rows(n, n_reps=2):
    at = pd.Series(range(n * n_reps))
    columns = {"context": "c" + (at // n_reps).astype(str), "rep": at % n_reps, "p": at / at.size}
    columns |= {"prompt": "standard", "action": "yes", "theta": at // n_reps % 2, "p_true": 0.25}
    columns |= {"x_fever_now": "high", "z_state": None, "status": "ok"}
    return pd.DataFrame(columns | {"raw_belief": "I say " + at.astype(str)})


def pages_of(unit, rows, most=1000, groups=()):
    links = AnswerLinks("evaluation-1", rows["context"].drop_duplicates().tolist(), most=most)
    for anchor, title, contexts in groups:
        links.group(anchor, title, contexts)
    return dict(answer_pages(unit(rows=Runs(rows)), links, back="../report.html#evaluation-1"))


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
    pages = pages_of(evaluation, rows, groups=[("g", ATTACK, [ATTACK])])
    assert set(pages) == {"evaluation-1.html", FIRST}
    for text in pages.values():
        [own] = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
        assert own == script("answers.js").text
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        allowed = f"style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
        assert f"default-src 'none'; {allowed}\"" in text
        shown = re.sub(r"<(script|style)>.*?</\1>|sha256-[^']*", "", text, flags=re.DOTALL)
        assert not re.search(r"<(script|img|iframe|object|form)", shown)
        assert "javascript:" not in re.sub(r">[^<]*<", "><", shown)
        assert not re.search(r"<[^>]* on[a-z]+=", shown)
        assert "49" not in shown
        # Labels to filter by stand in a page as text and in attributes as numbers.
        assert set(re.findall(r'data-[a-z]+="([^"]*)"', shown)) <= {"0", "1", "0 1"}
    assert "\\x1b[31m" in pages[FIRST]
    hrefs = {h for text in pages.values() for h in re.findall(r'href="([^"]*)"', text)}
    assert all(re.fullmatch(r"[a-z0-9./#-]*", href) for href in hrefs)


def test_what_moves_the_result_comes_first(unit):
    added = pd.Series([0.001, -0.03, 0.02, 0.0], index=["c0", "c1", "c2", "c3"])
    fields = ("sufficiency", "null", 0.1, "probability", None, 0.01, 8, 4)
    primary = CheckResult(*fields, contributions=added, family=Family.PRIMARY)
    of = unit(rows=Runs(made_rows(4)), results=(primary,), verdicts=("",))
    links = AnswerLinks("evaluation-1", ["c0", "c1", "c2", "c3"], most=3, moves=moves(of))
    pages = dict(answer_pages(of, links, back="../report.html"))
    names = re.findall(r'<h2 id="name-\d+" class="about">Case (c\d)', pages[FIRST])
    assert names == ["c1", "c2", "c0"]
    index = pages["evaluation-1.html"]
    assert re.findall(r"<td>([+-][\d.]+)</td>", index) == ["-3", "+2", "+0.1"]
    assert "3 of 4 cases, those that move the result most" in index


def test_equal_repetitions_are_one_row_that_says_how_many(unit):
    said, raw = [0.2] * 4 + [0.3] + [0.2] * 5, [*"aaaabaaaaa"]
    page = pages_of(unit, made_rows(2, n_reps=5).assign(p=said, raw_belief=raw))[FIRST]
    assert re.findall(r"<tr><td>([^<]*)</td><td>standard", page) == ["× 4", "", "× 5"]
    assert '<th scope="col">repetition' not in page


def test_rows_can_be_filtered_by_labels_that_differ(unit):
    rows = made_rows(2).assign(action=["yes", "no", None, "yes"])
    pages = pages_of(partial(unit, state_names=("healthy", "ill")), rows)
    page = pages[FIRST]
    assert re.findall(r'<select name="([a-z]+)"', page) == ["action", "state"]
    for option in ('"0">yes', '"1">no', '"0">healthy', '"1">ill'):
        assert f"<option value={option}</option>" in page
    assert re.findall(r"<section[^>]*( data[^>]*)>", page) == [' data-state="0"', ' data-state="1"']
    yes, no = ' data-action="0"', ' data-action="1"'
    assert re.findall(r"<tr( data[^>]*)?><td>", page) == [yes, no, "", yes]
    cases = re.findall(r"<tr( data[^>]*)><td", pages["evaluation-1.html"])
    assert cases == [' data-action="0 1" data-state="0"', ' data-action="0" data-state="1"']


def test_a_question_is_shown_once_for_its_case_and_prompt(unit):
    rows = made_rows(2).assign(asked="Is it\nso?", asked_action="What <do> you do?")
    rows.loc[3, ["prompt", "asked"]] = ["mse", "Brier: is it so?"]
    page = html.unescape(pages_of(unit, rows)[FIRST])
    assert page.count('<pre class="about">Is it\nso?</pre>') == 2
    assert page.count('<pre class="about">What <do> you do?</pre>') == 2
    assert page.count('<span class="soft">Asked for belief, mse:</span> Brier: is it so?') == 1


def test_every_link_between_pages_leads_somewhere(unit):
    rows = made_rows(2 * PER_PAGE + 1)
    pages = pages_of(unit, rows, groups=[("bin-1", "Bin 1", ["c0", f"c{2 * PER_PAGE}"])])
    ids = {name: set(re.findall(r'id="([^"]+)"', text)) for name, text in pages.items()}
    for text in pages.values():
        for href in re.findall(r'href="(evaluation[^"]*)"', text):
            name, _, anchor = href.partition("#")
            assert name in pages
            assert not anchor or anchor in ids[name]
    last = f'href="evaluation-1-page-3.html#context-{2 * PER_PAGE + 1}"'
    assert pages["evaluation-1.html"].count(last) == 2, "of the table and of the group"


# Raw answers in cells

NUMBERS = {f"{at / 100:.2f}": 1 / (at + 7) ** 3 for at in range(101)}


def summary_of(text):
    markup = r'<details class="long"><summary>(.*)</summary><div>(.*)</div></details>'
    found = re.fullmatch(markup, str(raw_markup(text)), flags=re.DOTALL)
    return html.unescape(found[1]), html.unescape(found[2])


def test_a_distribution_shows_its_most_probable_answers_rounded():
    text = json.dumps({"No": dict(reversed(NUMBERS.items()))})
    summary, whole = summary_of(text)
    most = "0.00 (0.00292), 0.01 (0.00195), 0.02 (0.00137), 0.03 (0.001)"
    assert summary == f"No: {most} … of 101 answers"
    assert whole == text


def test_what_is_no_distribution_is_text():
    odd = [json.dumps({"No": NUMBERS | {"0.50": value}}) for value in (7, float("nan"), True)]
    mixed = [{"No": NUMBERS, "Yes": "0.3"}, {"reason": "x" * 300, "p": 0.3}, [NUMBERS]]
    bad = [json.dumps({"No": NUMBERS})[:-9], '{"a": ' + "9" * 5000 + "}", '{"a":' * 100_000]
    for text in (*odd, *map(json.dumps, mixed), *bad, "{}" + " " * 300):
        assert summary_of(text)[0].endswith(f"… ({len(text)} characters)")


@pytest.mark.parametrize("wrap", [str, lambda evil: json.dumps({evil: NUMBERS})])
@pytest.mark.parametrize("filler", ["", "x" * FOLDED_FROM])
def test_untrusted_text_stays_text(wrap, filler):
    shown = str(raw_markup(wrap("</summary><script>alert(1)</script>{0}{x}\x1b[31m") + filler))
    names = {"summary", "/summary", "div", "/div", 'details class="long"', "/details"}
    assert set(re.findall(r"<([^>]+)>", shown)) <= names
    assert "\x1b" not in shown
