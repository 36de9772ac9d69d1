r"""Replies as plain lines: characters, HTML, TeX and Markdown undone, tables as lines.

What is undone changes no wording. A box (``\boxed{...}``), which marks an answer, becomes a line
that begins with "Answer:".
"""

import re

from coherence.decoding.numerals import RepairedText, plain_character

_BREAK = re.compile(r"<(?:br|/?p|/?li|/?ul|/?ol|/?div|/?tr|/?table|/?h[1-6])\s*/?>", re.IGNORECASE)
_CELL = re.compile(r"</?t[dh]>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:b|strong|i|em|u|code|pre|span|tbody|thead|font|center|answer|output|response|"
    r"result)\s*>",
    re.IGNORECASE,
)
_ENTITIES = {"&nbsp;": " ", "&amp;": "&", "&#39;": "'", "&quot;": '"', "&lt;": "<", "&gt;": ">"}
_TEX_TEXT = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mathit|textit|operatorname)\{([^{}\n]*)\}")
_BOX = re.compile(r"\\(?:boxed|fbox)\{([^{}]*)\}")
_BOX_MARKS = re.compile(r"<\|begin_of_box\|>([^<]*)<\|end_of_box\|>")
_TEX_FRACTION = re.compile(r"\\[dt]?frac\{(\d{1,9})\}\{(\d{1,9})\}")
_TEX_MARKS = re.compile(r"\\[\[\]()]|\$\$|\\(?:quad|qquad|left|right|displaystyle)\b|\\[,;! ]")
_MATH = re.compile(r"(?<![\w$])\$([^$\n]{1,200})\$(?![\w$])")
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)[^\n`]*$", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+", re.MULTILINE)
_QUOTE = re.compile(r"^(?:[ \t]*>)+[ \t]?(?=[^\s0-9.])", re.MULTILINE)
# Not between digits or letters, where they may be a power or part of a name.
_STARS = re.compile(r"(?<![0-9])\*{2,3}|\*{2,3}(?![0-9])")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,200}?[^\s*]|[^\s*])\*(?![\w*])")
_UNDERSCORES = re.compile(r"(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_TICKS = re.compile(r"(?<![\w`])`{1,3}|`{1,3}(?![\w`])")
_RULE = re.compile(r"^[ \t|:+-]*-{2,}[ \t|:+-]*$")


def plain_lines(text: str, reading: RepairedText) -> list[str]:
    """Return the visible lines of a reply without markup, and note what that took.

    Parameters
    ----------
    text : str
        What was said.
    reading : RepairedText
        Takes the notes.

    Returns
    -------
    list of str
        Without blanks at their ends; empty lines are left out. The cells of a row are parted by
        " | ".
    """
    plain = text
    if not plain.isascii():
        plain = "".join(map(plain_character, plain))
        if plain != text:
            reading.note("characters")
    # Another way to write a box, of models that mark their answers so.
    bare = _BOX_MARKS.sub(r"\nAnswer: \1\n", plain) if "_of_box|>" in plain else plain
    if "<" in bare or "&" in bare:
        bare = _without_html(bare)
    if "\\" in bare or "$" in bare:
        bare = _without_tex(bare)
    bare = _HEADING.sub("", _QUOTE.sub("", _FENCE.sub("", bare)))
    if "*" in bare or "_" in bare or "`" in bare:
        bare = _UNDERSCORES.sub("", _EMPHASIS.sub(r"\1", _STARS.sub("", _TICKS.sub("", bare))))
    if bare != plain:
        reading.note("markup")
    lines = [line.strip(" \t\r") for line in bare.split("\n")]
    lines = [line for line in lines if line]
    return _table_lines(lines, reading) if "|" in bare else lines


def _without_html(text: str) -> str:
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    return _TAG.sub("", _CELL.sub(" | ", _BREAK.sub("\n", text)))


def _without_tex(text: str) -> str:
    bare = _TEX_FRACTION.sub(r"\1/\2", _TEX_TEXT.sub(r"\1", text.replace("\\%", "%")))
    bare = _BOX.sub(r"\nAnswer: \1\n", bare)
    bare = _MATH.sub(r"\1", _TEX_MARKS.sub(" ", bare))
    return bare.replace("\\\\", "\n")


def _table_lines(lines: list[str], reading: RepairedText) -> list[str]:
    """Return lines with the rows of tables as cells parted by " | ", rules left out."""
    rows = []
    for line in lines:
        if "|" not in line:
            rows.append(line)
        elif not _RULE.match(line):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows.append(" | ".join(cells).strip())
    if rows != lines:
        reading.note("markup")
    return [row for row in rows if row]
