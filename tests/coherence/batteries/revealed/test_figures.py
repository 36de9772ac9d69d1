"""Figures of revealed beliefs: what is drawn, with many sources and long names."""

import pandas as pd
import pytest

from coherence.errors import InputError


def test_figures_are_written(tmp_path, beliefs):
    from coherence.batteries.revealed.figures import write_figures
    from coherence.batteries.revealed.plots import plot_outcomes, plot_previous

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

    ax = plot_outcomes(table, "dice/single/$a$", Figure().add_subplot())
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx([0.5, 0.5, 0.8, 0.2])  # the truth, and the mean of the wordings
    ax = plot_previous(table, "dice/single/$a$", "independent", Figure().add_subplot(), source="m")
    assert ax.lines[-1].get_ydata() == pytest.approx([0.2, 0.8])
    with pytest.raises(InputError, match="must be one of the table"):
        plot_outcomes(table, "elsewhere", Figure().add_subplot())


def test_figures_with_four_sources_and_long_names(tmp_path, beliefs):
    """Breaks if a source without a belief, or with a name that is too long, spoils the figure of
    the others.
    """
    from PIL import Image

    from coherence.batteries.revealed.figures import write_figures
    from coherence.batteries.revealed.plots import plot_orders, plot_outcomes

    labels = ["Strongly disagree with $x", "Wholeheartedly agree"]
    tables = []
    for number in range(4):
        source = f"{number}-a-very-long-name-of-a-model-that-somebody-chose"
        for setting, order in (("x", labels), ("y", labels[::-1])):
            masses = [0.0, 0.0] if number == 3 else [0.6, 0.2]
            table = beliefs(
                f"preference/single/{setting}", "a", masses, [0.5, 0.5], source=source, pair="p"
            )
            tables.append(table.assign(outcome=order, scenario="preference"))
    both = pd.concat(tables, ignore_index=True)
    assert [path.name for path in write_figures(both, tmp_path)] == ["outcomes.png", "orders.png"]
    with Image.open(tmp_path / "orders.png") as image:
        assert image.size == (
            3 * 495,
            360,
        )  # three sources with a belief side by side, none for the fourth

    from matplotlib.figure import Figure

    ax = plot_outcomes(both, "preference/single/x", Figure().add_subplot())
    assert [text.get_text() for text in ax.texts] == ["no belief read of 3-a-very-long-name-…"]
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "Strongly\ndisagree with…",
        "Wholeheartedly\nagree",
    ]
    assert not any(text.get_parse_math() for text in [*ax.texts, *ax.get_xticklabels()])
    assert (
        max(bar.get_height() for bar in ax.patches) < ax.get_ylim()[1] * 0.85
    )  # the note stands above the bars
    ax = plot_orders(both, "p", Figure().add_subplot(), source=both["source"].iloc[0])
    assert sorted(bar.get_height() for bar in ax.patches) == pytest.approx([0.25, 0.25, 0.75, 0.75])


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
