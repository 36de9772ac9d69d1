"""The pages show what the committed results give."""

from pathlib import Path

import mixing
import pytest
import simulate

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "program"),
    [("validity-tables.md", simulate), ("mixing.md", mixing)],
)
def test_a_page_has_the_tables_of_its_results(page, program):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert program.page() in text, f"run its program again with --page docs/{page}"
