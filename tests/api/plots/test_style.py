"""What figures share: scales with room at the ends, settings that end with the block, files."""

import matplotlib
from matplotlib.figure import Figure

from coherence.plots.style import (
    figure_style,
    save_plot,
    set_title,
)


def test_settings_end_with_the_block():
    before = matplotlib.rcParams["font.size"], matplotlib.rcParams["svg.hashsalt"]
    with figure_style({"font.size": 3.0}):
        assert matplotlib.rcParams["font.size"] == 3.0
        assert matplotlib.rcParams["svg.hashsalt"] == "coherence"
    assert (matplotlib.rcParams["font.size"], matplotlib.rcParams["svg.hashsalt"]) == before


def test_equal_plots_are_equal_files_and_the_salt_makes_others(tmp_path):
    def draw(ax):
        ax.plot([0, 1], [0, 1], clip_on=True)
        return ax

    paths = [tmp_path / name for name in ("a.svg", "b.svg", "c.svg")]
    for path, salt in zip(paths, ("x", "x", "y"), strict=True):
        save_plot(draw, path, size=(2.0, 2.0), salt=salt)
    first, second, salted = (path.read_text(encoding="utf-8") for path in paths)
    assert first == second != salted
    assert "<dc:date>" not in first


def test_titles_are_wrapped_and_no_mathematics_and_may_be_left_out():
    ax = Figure().add_subplot()
    set_title(ax, None, "What is shown")
    assert ax.get_title(loc="left") == "What is shown"
    set_title(ax, "$x$ " + "word " * 20, "What is shown")
    assert "\n" in ax.get_title(loc="left")
    assert ax._left_title.get_parse_math() is False
    set_title(ax, "", "What is shown")
    assert ax.get_title(loc="left").startswith("$x$")
