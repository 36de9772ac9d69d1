"""Figures of revealed beliefs: what is drawn, with many sources and long names."""

import pandas as pd
import pytest

from coherence import InputError


def test_figures_are_written(tmp_path, beliefs):
    from coherence.batteries.revealed.figures import plot_outcomes, write_figures

    table = pd.concat(
        [
            beliefs("dice/single/$a$", "a", [0.9, 0.1], [0.5, 0.5]),
            beliefs("dice/single/$a$", "b", [0.7, 0.3], [0.5, 0.5]),
            beliefs(
                "later", "a", [0.2, 0.8], [0.5, 0.5], previous="1", baseline="dice/single/$a$"
            ).assign(variant="independent"),
        ]
    )
    written = write_figures(table, tmp_path)
    assert [path.name for path in written] == ["outcomes.png", "previous.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)
    from matplotlib.figure import Figure

    with pytest.raises(InputError, match="must be one of the table"):
        plot_outcomes(table, "elsewhere", Figure().add_subplot())


def test_a_side_without_a_belief_keeps_its_column(tmp_path, beliefs):
    from coherence.batteries.revealed.figures import write_figures

    history = [
        beliefs("dice/single/b", "a", [0.5, 0.5], [0.5, 0.5]),
        beliefs(
            "later", "a", [0.2, 0.8], [0.5, 0.5], previous="1", baseline="dice/single/b"
        ).assign(variant="independent"),
    ]
    other = [history[0].assign(source="other")]  # asked about the single roll alone
    assert [path.name for path in write_figures(pd.concat([*history, *other]), tmp_path)] == [
        "outcomes.png",
        "previous.png",
    ]


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Figures by the name of their file, instead of the files."""
    from matplotlib.figure import Figure

    figures = {}
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, path, **_: figures.setdefault(path.stem, figure)
    )

    def draw(table):
        from coherence.batteries.revealed.figures import write_figures

        figures.clear()
        write_figures(table, tmp_path)
        return figures

    return draw


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes]


def history(beliefs, source):
    later = beliefs("later", "w", [0.2, 0.8], [0.5, 0.5], previous="1", baseline="dice/single/base")
    alone = beliefs("dice/single/base", "w", [0.5, 0.5], [0.5, 0.5])
    return [alone.assign(source=source), later.assign(variant="independent", source=source)]


def test_a_setting_with_a_single_possible_outcome_has_its_panel(beliefs, drawn):
    figure = drawn(beliefs("dice/single/certain", "w", [0.3], [1.0]))["outcomes"]
    assert titles(figure) == ["certain"]
    (ax,) = figure.axes
    assert [bar.get_height() for bar in ax.patches] == [1, 1]


def test_orders_have_a_panel_for_each_source_that_was_read(beliefs, drawn):
    tables = []
    for source, masses in (("a", [0.6, 0.4]), ("b", [0.0, 0.0]), ("c", [0.5, 0.5])):
        for pair in ("set/p", "set/q"):
            for setting in "xy":
                rows = beliefs(
                    f"choice/single/{pair[-1]}{setting}", "w", masses, [0.5, 0.5], pair=pair
                )
                tables.append(rows.assign(source=source))
    table = pd.concat(tables)
    # Of the second pair nothing was read of "c": its panel is empty, and keeps its place.
    lost = (table["source"] == "c") & (table["pair"] == "set/q")
    figure = drawn(table.assign(mass=table["mass"].mask(lost, 0.0)))["orders"]
    assert titles(figure) == ["p\na", "p\nc", "q\na", "q\nc"]
    notes = [[text.get_text() for text in ax.texts] for ax in figure.axes]
    assert notes == [[], [], [], ["no belief read of\nc"]]
    assert not figure.axes[-1].axison
