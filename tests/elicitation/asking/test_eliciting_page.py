"""The pages on eliciting: break if a status, a template or a column is not as they say."""

import re
from pathlib import Path

import pytest

from coherence.decoding.decode import STATUSES, decode_belief

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "eliciting.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([a-z_:]+)` \| (.+) \| (\.7|none|kept) \|$", PAGE, re.MULTILINE)


def examples():
    for status, cell, value in ROWS:
        for example in re.split(r", (?=`)", cell):
            if "`" in example:
                text = "\n".join(re.findall(r"`([^`]+)`", example))
                yield status, text, None if value == "none" else 0.7


def test_every_status_is_explained_by_an_example_that_is_read_so():
    assert [status for status, _, _ in ROWS] == list(STATUSES)
    for status, text, value in examples():
        decoded = decode_belief(text)
        read = (decoded.status, decoded.value)
        assert read == (status, pytest.approx(value) if value else None), text
    # The others are those that a text alone does not have.
    shown = {status for status, _, _ in examples()}
    assert set(STATUSES) - shown == {"low_mass", "truncated"}
