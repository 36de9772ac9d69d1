"""The pages on eliciting: break if a status, a template or a column is not as they say."""

import re
import tomllib
from pathlib import Path

import pytest

from coherence import decode_belief
from coherence.table.schema import STATUSES
from elicitation import NETWORK_PROMPTS, load_prompts, load_questions
from elicitation.questions.own import COLUMNS

ROOT = Path(__file__).parents[3]
STATUS_PAGE = (ROOT / "docs" / "statuses.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "eliciting.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([a-z_:]+)` \| (.+) \| (\.7|none|kept) \|$", STATUS_PAGE, re.MULTILINE)


def examples():
    for status, cell, value in ROWS:
        for example in re.split(r", (?=`)", cell):
            if "`" in example:
                yield (
                    status,
                    "\n".join(re.findall(r"`([^`]+)`", example)),
                    None if value == "none" else 0.7,
                )


@pytest.mark.parametrize(("status", "text", "value"), list(examples()))
def test_examples_are_read_as_the_page_says(status, text, value):
    decoded = decode_belief(text)
    assert (decoded.status, decoded.value) == (status, pytest.approx(value) if value else None)


def test_statuses_without_an_example_are_those_that_a_text_alone_does_not_have():
    shown = {status for status, _, _ in examples()}
    assert set(STATUSES) - shown == {"low_mass", "repaired:sentence", "truncated"}


def test_every_status_is_explained():
    assert [status for status, _, _ in ROWS] == list(STATUSES)


def test_the_template_on_the_page_is_the_one_in_the_examples():
    (block,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    example = ROOT / "examples" / "prompts.toml"
    assert (
        tomllib.loads(block)["belief"]["number"]
        == tomllib.loads(example.read_text(encoding="utf-8"))["belief"]["number"]
    )
    prompts, names = load_prompts(example, NETWORK_PROMPTS)
    assert names == ("number", "betting")
    assert "No: 0.50" in prompts.belief["betting"].fill(
        description="d", question="q", n_lines="2", labels="No, Yes", example="No: 0.50"
    )


def test_the_columns_on_the_page_are_those_of_a_file_of_questions():
    for name in COLUMNS:
        assert f"`{name}`" in PAGE
    assert load_questions(ROOT / "examples" / "questions.csv")["options"].map(len).tolist() == [
        2,
        2,
    ]
