import csv
import io
import re

import pytest

from coherence.report.tables import (
    Cell,
    Column,
    PaperTable,
    escape_latex,
    escape_markdown,
    render_csv,
    render_latex,
    render_markdown,
    text_cell,
)

NASTY = "a|b & <script>_x_</script> $1$ 50% #2 {y} ~z^ \\end{table} `c` [l](javascript:1)\n\x1b[31m"


@pytest.fixture
def table():
    numbers = {"": 0.1 + 0.2, "low": float("nan")}
    return PaperTable(
        name="table9",
        label="Table 9",
        title="100%",
        caption="A share_of & more.",
        columns=(
            Column("model", "model", number=False),
            Column("x.repaired", "repaired", "x_1"),
            Column("", "p (Holm)", "x_1"),
        ),
        rows=(
            (text_cell(NASTY), Cell("0.30", numbers), Cell("<0.001 (0.050)")),
            (text_cell("=1+1"), Cell("not run", note="50% < all"), Cell("–")),
            (text_cell("mean"), Cell("0.3", {"": 0.3}), Cell("")),
        ),
        n_last=1,
    )


def test_markdown_has_as_many_cells_in_every_line_and_no_live_markup(table):
    text = render_markdown(table)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 3
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {4}
    assert "<script>" not in text
    assert "](" not in text  # no link
    assert "&lt;script&gt;\\_x\\_&lt;/script&gt; \\$1\\$" in text
    assert "not run<sup>a</sup>" in text
    assert text.rstrip().endswith("<sup>a</sup> 50% &lt; all")
    assert "\x1b" not in text


def unescaped(text):
    """Undo `escape_latex` on what it may write, so that nothing is lost."""
    back = {
        r"\textbackslash{}": "\\",
        r"\textasciitilde{}": "~",
        r"\textasciicircum{}": "^",
        r"\textless{}": "<",
        r"\textgreater{}": ">",
        r"\textbar{}": "|",
        r"\textasciigrave{}": "`",
        r"{-}": "-",
    } | {rf"\{mark}": mark for mark in "{}$&#_%"}
    pattern = "|".join(map(re.escape, sorted(back, key=len, reverse=True)))
    return re.sub(pattern, lambda found: back[found[0]], text)


def test_latex_escapes_every_special_character_and_loses_none():
    text = escape_latex(NASTY)
    without_commands = re.sub(r"\\[a-z]+\{\}|\\[{}$&#_%]|\{-\}", "", text)
    assert not set(without_commands) & set("\\{}$&#_%~^<>|`")
    assert unescaped(text) == re.sub(r"\n.*", "", NASTY)


@pytest.mark.parametrize(
    ("mark", "written"),
    [
        ("-0.1 a-1", r"$-$0.1 a{-}1"),
        ("[-2, x--y]", r"[$-$2, x{-}{-}y]"),
        ("é", "é"),
        ("e\u0301", "é"),
        ("模", "[U+6A21]"),
        ("😀", "[U+1F600]"),
        ("½", "[U+00BD]"),
    ],
)
def test_latex_keeps_latin_letters_and_numbers_others(mark, written):
    assert escape_latex(mark) == written


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


def test_a_link_cannot_be_made_of_names():
    assert escape_markdown("[a](b) ![c][d]") == "[a&#93;(b) ![c&#93;[d]"
