"""Raw answers in the cells of pages: short ones as they are, long ones folded under a beginning.

What a model is asked for exactly is stored as every possible answer with its probability. Nobody
reads a hundred numbers of eighteen digits; folded, they show the most probable ones. Everything
here is untrusted, and escaped.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from coherence.report.page_parts import visible
from coherence.report.wording import NOT_GIVEN, clean

RAW_LIMIT = 4000
"""Characters of a raw answer that are shown."""
FOLDED_FROM = 200
"""Characters above which an answer is folded."""
BEGINNING = 120
"""Characters of a folded answer that are always seen."""
MOST_PROBABLE = 4
"""Answers of a distribution that are always seen."""
_NAME = 60
_SUMMARY = 400
Distribution = Mapping[str, float]


def raw_markup(value: Any) -> Markup:
    """Return what a cell shows of a raw answer, without a script."""
    if value is None or value is pd.NA or value != value:  # NaN alone differs from itself
        return Markup.escape(NOT_GIVEN)
    text = str(value)
    cut = f" … (cut after {RAW_LIMIT} of {len(text)} characters)" if len(text) > RAW_LIMIT else ""
    whole = visible(text[:RAW_LIMIT]) + cut
    if len(text) <= FOLDED_FROM:
        return Markup.escape(whole)
    return Markup('<details class="long"><summary>{}</summary><div>{}</div></details>').format(
        _summary(text), whole
    )


def _summary(text: str) -> str:
    """Return what is seen of a long answer before it is unfolded."""
    parts = _distributions(text)
    if parts:
        told = (_most_probable(name, masses) for name, masses in parts.items())
        return clean("; ".join(told), limit=_SUMMARY)
    beginning = visible(re.sub(r"\s+", " ", text[:BEGINNING])).strip()
    return f"{beginning}… ({len(text)} characters)"


def _distributions(text: str) -> dict[str, Distribution]:
    """Read label -> answer -> probability; the label is empty where there is but one part."""
    if not text.startswith("{"):
        return {}
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):  # cut off, no JSON, or made to be a trap
        return {}
    parts = {"": read} if _is_distribution(read) else read
    return parts if all(map(_is_distribution, parts.values())) else {}


def _is_distribution(read: Any) -> bool:
    return isinstance(read, dict) and len(read) > 1 and all(map(_is_probability, read.values()))


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _most_probable(name: str, masses: Distribution) -> str:
    """Write "No: 0.50 (0.021), 0.20 (0.0049) … of 101 answers"."""
    ranked = sorted(masses.items(), key=lambda item: -item[1])[:MOST_PROBABLE]
    shown = ", ".join(f"{clean(answer, limit=_NAME)} ({mass:.3g})" for answer, mass in ranked)
    label = f"{clean(name, limit=_NAME)}: " if name else ""
    left = f" … of {len(masses)} answers" if len(masses) > len(ranked) else ""
    return f"{label}{shown}{left}"
