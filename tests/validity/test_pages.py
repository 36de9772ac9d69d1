"""The pages show what the committed results give (validity.md: tests/test_docs.py)."""

from pathlib import Path

import mixing
import page

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_the_batteries_has_the_figures_of_mixing():
    text = (DOCS / "batteries.md").read_text(encoding="utf-8")
    assert mixing.page() in text, "run its program again with --page docs/batteries.md"


def test_every_table_of_a_simulation_is_on_the_page():
    tables = {path.stem for path in Path(page.__file__).parent.glob("*.csv")}
    assert {name for names in page.PROGRAMS.values() for name in names} == tables
