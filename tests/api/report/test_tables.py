"""Tables as text, markdown, LaTeX, CSV and HTML. Breaks if one form shows another number, or lets
a name be code."""

import csv
import io
import itertools
import math
import re
from string import ascii_lowercase

import pytest

import coherence
from coherence import InputError
from coherence.report.document import (
    Cell,
    Column,
    Kind,
    Table,
    build_table,
    count,
    label,
    pvalue,
    table_of_texts,
)
from coherence.report.files import (
    escape_latex,
    escape_markdown,
    render_cells,
    render_csv,
    render_latex,
    render_markdown,
)
from coherence.report.page import render_parts as as_html
from coherence.report.screen import render_parts

NASTY = "a|b & <script>_x_</script> $1$ 50% #2 {y} ~z^ \\end{table} `c` [l](javascript:1)\n\x1b[31m"


def test_marks_of_footnotes_go_on_behind_z():
    column = Column("x", "x", make=lambda row: Cell("1", note=f"note {row}"))
    pairs = map("".join, itertools.product(ascii_lowercase, repeat=2))
    marks = list(build_table(range(728), [column]).notes.values())
    assert marks == [*ascii_lowercase, *pairs, *(f"aa{letter}" for letter in ascii_lowercase)]


@pytest.fixture
def table():
    numbers, reason = {"": 0.1 + 0.2, "low": float("nan")}, "50% < all"
    effect, p = Column("x.repaired", "repaired", group="x_1"), Column("", "p (Holm)", group="x_1")
    rows = (
        (Cell(NASTY, {"": NASTY}), Cell("0.30", numbers), Cell("<0.001 (0.050)")),
        (Cell("=1+1", {"": "=1+1"}), Cell("not run", note=reason), Cell("–")),
        (Cell("mean", {"": "mean"}), Cell("0.3", {"": 0.3}), Cell("")),
    )
    texts = {"name": "table9", "label": "Table 9", "title": "100%", "caption": "A share_of & more."}
    return Table(**texts, columns=(label("model"), effect, p), rows=rows, n_last=1)


def test_markdown_has_as_many_cells_in_every_line_and_no_live_markup(table):
    text = render_markdown(table)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 3
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {4}
    assert "<script>" not in text
    assert "](" not in text  # no link
    assert escape_markdown("[a](b) ![c][d]") == "[a&#93;(b) ![c&#93;[d]"
    assert "&lt;script&gt;\\_x\\_&lt;/script&gt; \\$1\\$" in text
    assert "not run<sup>a</sup>" in text
    assert text.rstrip().endswith("<sup>a</sup> 50% &lt; all")
    assert "\x1b" not in text


def test_latex_escapes_every_special_character_and_loses_none():
    text = escape_latex(NASTY)
    without_commands = re.sub(r"\\[a-z]+\{\}|\\[{}$&#_%]|\{-\}", "", text)
    assert not set(without_commands) & set("\\{}$&#_%~^<>|`")
    names = ("backslash", "asciitilde", "asciicircum", "less", "greater", "bar", "asciigrave")
    back = {rf"\text{name}{{}}": mark for name, mark in zip(names, "\\~^<>|`", strict=True)}
    back |= {rf"\{mark}": mark for mark in "{}$&#_%"} | {r"{-}": "-"}
    pattern = "|".join(map(re.escape, sorted(back, key=len, reverse=True)))
    unescaped = re.sub(pattern, lambda found: back[found[0]], text)
    assert unescaped == re.sub(r"\n.*", "", NASTY)


def test_latex_keeps_latin_letters_and_numbers_others():
    written = {"-0.1 a-1": r"$-$0.1 a{-}1", "[-2, x--y]": r"[$-$2, x{-}{-}y]", "é": "é"}
    written |= {"e\u0301": "é", "模": "[U+6A21]", "😀": "[U+1F600]", "½": "[U+00BD]"}
    assert {mark: escape_latex(mark) for mark in written} == written


def test_latex_structure(table):
    text = render_latex(table)
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r"\\")]
    # Groups, headings, three rows; two ends of a cell in each but the groups, one of which spans.
    ends = [len(re.findall(r"(?<!\\)&", line)) for line in rows]
    assert ends == [1, 2, 2, 2, 2]
    assert r"\multicolumn{2}{c}{x\_1}" in rows[0]
    assert r"\cmidrule(lr){2-3}" in body
    assert body.count(r"\midrule") == 2  # below the headings, and above the last row
    assert r"\begin{tabular}{lrr}" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert r"\textsuperscript{a} 50\% \textless{} all" in text
    assert r"\label{tab:table9}" in text


def test_csv_is_unrounded_and_says_what_is_missing(table):
    first, second, last = csv.DictReader(io.StringIO(render_csv(table)))
    assert list(first) == ["model", "x.repaired", "x.repaired.low", "x.repaired.why"]
    assert float(first["x.repaired"]) == 0.1 + 0.2
    assert (first["x.repaired.low"], first["model"]) == ("", NASTY.replace("\x1b", ""))
    assert second["model"] == "'=1+1"  # no formula
    assert (second["x.repaired"], second["x.repaired.why"]) == ("", "50% < all")
    assert last["x.repaired"] == "0.3"


ROW = {"name": "m", "n": 1234, "share": 0.125, "low": 0.1, "high": 0.15, "p": 0.0004, "holm": 0.012}
ENDS = {"ends": ("low", "high")}
OF_ENDS = {"low": 0.1, "high": 0.15}


@pytest.mark.parametrize(
    ("column", "text", "values"),
    [
        (label("name"), "m", {"": "m"}),
        (count("n"), "1,234", {"": 1234}),
        (Column("share"), "0.125", {"": 0.125}),
        (Column("share", **ENDS), "0.125 [0.100, 0.150]", {"": 0.125} | OF_ENDS),
        (Column("share", kind=Kind.SHARE, exact={}, **ENDS), "12.5% [10.0, 15.0]", {"": 0.125}),
        (Column("share", digits=1, behind="name"), "0.1m", {"": 0.125}),
        (Column("", kind=Kind.INTERVAL, **ENDS), "[0.100, 0.150]", OF_ENDS),
        (pvalue("p", adjusted="holm"), "<0.001 (0.012)", {"": 0.0004, "holm": 0.012}),
    ],
)
def test_each_kind_is_written_in_one_way_and_kept_unrounded(column, text, values):
    assert column.cell(ROW) == Cell(text, values, is_reason=column.cell(ROW).is_reason)


def test_what_is_missing_says_why():
    column = Column("share", reason="why", **ENDS)
    lacks = ROW | {"share": math.nan, "why": "too few"}
    assert (column.cell(lacks).text, column.cell(lacks).note) == ("–", "too few")
    bare = column.cell(ROW | {"low": math.nan, "high": math.nan, "why": "all alike"})
    assert (bare.text, bare.note, bare.is_reason) == ("0.125", "all alike", False)


def test_rows_that_are_read_together_have_equal_decimals():
    table = build_table([{"x": 0.01234}, {"x": 1.5}], [Column("x", together=True)])
    assert [row[0].text for row in table.rows] == ["0.01", "1.50"]


def test_every_form_shows_the_same_texts(table):
    """Breaks if a form writes numbers by itself, loses a footnote, or lets a name be code."""
    for text in (render_parts([table]), as_html([table]), render_markdown(table)):
        for shown in ("0.30", "0.001 (0.050)", "not run", "mean", "all"):
            assert shown in text
        assert "<script>" not in text.replace(NASTY.split("\n")[0], "") or "<table>" not in text
        assert "\x1b" not in text


def test_headings_among_rows_stand_in_every_form():
    heading = "A long heading A long heading A long heading A long heading"
    table = table_of_texts(["", "1"], [["a", "x"], ["b", "y"]], parts={1: heading})
    assert f"  a  x\n{heading}\n  b  y" in render_parts([table])
    assert f"| **{heading}**" in render_cells(table)
    assert f"{{}}\\textbf{{{heading}}}" in render_latex(table)
    assert f'class="question">{heading}<' in as_html([table])


def test_reports_stand_side_by_side_and_draw_what_their_results_draw():
    rows = coherence.simulate("leaky", n_contexts=40, n_reps=2, iterated=False, rng=1)
    one = coherence.analyze(rows, checks=["sufficiency", "cmi"], rng=1)
    for text in (one.to_markdown(one), one.to_latex(one)):
        assert text.count("leaky") == 2
    primary, cmi = one.evaluations[0].results
    assert one.plot(title="A").get_title(loc="left") == primary.plot(title="A").get_title(
        loc="left"
    )
    with pytest.raises(InputError, match="cmi has none"):
        cmi.plot()
