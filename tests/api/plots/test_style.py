"""What figures share: scales with room at the ends, settings that end with the block, files."""

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure

from coherence.plots.style import (
    canvas,
    figure_style,
    frame_axes,
    probability_scales,
    save_plot,
    set_title,
)


def test_scales_run_from_nothing_to_certain_with_room_at_the_ends():
    ax = Figure().add_subplot()
    probability_scales(ax, y=False)
    assert ax.get_xlim() == (-0.03, 1.03)
    assert ax.get_ylim() == (0, 1)
    probability_scales(ax, x=False)
    assert ax.get_ylim() == (-0.04, 1.04)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0", ".25", ".5", ".75", "1"]
    frame_axes(ax)
    assert [name for name, spine in ax.spines.items() if spine.get_visible()] == ["left", "bottom"]


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


def test_given_axes_keep_the_style_of_their_owner():
    with figure_style({"font.size": 3.0}), canvas(Figure().add_subplot()):
        assert matplotlib.rcParams["font.size"] == 3.0


def test_without_axes_there_is_a_new_figure_each_time():
    with canvas(None, size=(3.0, 2.0)) as first, canvas(None) as second:
        assert first is not second
    assert first.figure.get_size_inches().tolist() == [3.0, 2.0]


def test_what_the_first_figure_of_a_notebook_sets_outlasts_it(monkeypatch):
    made = pyplot.figure

    def first_figure(**options):
        matplotlib.rcParams["toolbar"] = "None"  # stands for what a display sets
        return made(**options)

    monkeypatch.setattr(pyplot, "figure", first_figure)
    before = matplotlib.rcParams["toolbar"]
    with canvas(None):
        pass
    assert matplotlib.rcParams["toolbar"] == "None" != before
    matplotlib.rcParams["toolbar"] = before
