import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from statsmodels.stats.proportion import proportion_confint

from coherence.errors import InputError
from coherence.report import plots


@pytest.fixture
def ax():
    return Figure().add_subplot()


def drawn(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def ends(line):
    return [
        (round(float(x), 6), round(float(y), 6))
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]


def test_wilson_interval_agrees_with_statsmodels():
    counts, trials = np.array([0, 3, 10, 57]), np.array([5, 12, 10, 200])
    low, high = plots.wilson_interval(counts / trials, trials)
    expected = proportion_confint(counts, trials, method="wilson")
    np.testing.assert_allclose((low, high), np.clip(expected, 0, 1), atol=1e-9)


def test_bins_are_collected_from_both_sides_of_the_pairs(pairs):
    bins = plots.choice_bins(pairs())
    assert bins["bin"].tolist() == [0, 1, 2, 3, 4]
    assert bins["share"].tolist() == [0.10, 0.35, 0.80, 0.45, 0.90]
    assert bins["n"].tolist() == [180, 160, 200, 140, 120]


def test_bins_without_choices_are_left_out(pairs):
    details = pairs()
    details.loc[details["bin_j"] == 1, "n_j"] = 0
    details.loc[details["bin_k"] == 1, "n_k"] = 0
    assert plots.choice_bins(details)["bin"].tolist() == [0, 2, 3, 4]


def test_pairwise_choice_marks_exactly_the_significant_reversals(pairs, ax):
    plots.plot_pairwise_choice(pairs(), ("yes", "no"), ax)
    (points,) = drawn(ax, "bins")
    np.testing.assert_allclose(
        points.get_offsets(), [(0.08, 0.10), (0.29, 0.35), (0.52, 0.80), (0.71, 0.45), (0.93, 0.90)]
    )
    assert points.get_sizes()[2] / points.get_sizes()[4] == pytest.approx(200 / 120)
    (reversal,) = drawn(ax, "reversal")
    assert ends(reversal) == [(0.52, 0.80), (0.71, 0.45)]
    assert reversal.is_dashed()
    assert [ends(line) for line in drawn(ax, "step")] == [
        [(0.08, 0.10), (0.29, 0.35)],
        [(0.29, 0.35), (0.52, 0.80)],
        [(0.71, 0.45), (0.93, 0.90)],
    ]
    assert not any(line.is_dashed() for line in drawn(ax, "step"))


def test_a_reversal_that_chance_explains_is_not_marked(pairs, ax):
    plots.plot_pairwise_choice(pairs(significant=()), ("yes", "no"), ax)
    assert drawn(ax, "reversal") == []
    assert len(drawn(ax, "step")) == 4
    assert ax.get_legend() is None


def test_a_significant_reversal_over_several_bins_is_drawn_more_lightly(pairs, ax):
    details = pairs(shares=(0.6, 0.5, 0.4, 0.3, 0.2), significant=((0, 4), (1, 2)))
    plots.plot_pairwise_choice(details, ("yes", "no"), ax)
    far, near = drawn(ax, "reversal")
    assert ends(far) == [(0.08, 0.6), (0.93, 0.2)]
    assert far.get_linewidth() < near.get_linewidth()


def test_each_action_has_its_own_histogram_on_the_common_scale(choices, ax):
    table = choices()
    plots.plot_belief_histogram(table, ax)
    edges = np.arange(-0.5, 21) / 20
    counts = {
        action: np.histogram(table.loc[table["action"] == action, "belief"], edges)[0]
        for action in ("defer", "no", "yes")
    }
    tallest = max(count.max() for count in counts.values())
    for number, (_, count) in enumerate(counts.items()):
        (stairs,) = drawn(ax, f"action-{number}")
        values, drawn_edges, baseline = stairs.get_data()
        np.testing.assert_allclose(drawn_edges, edges)
        np.testing.assert_allclose(values - baseline, plots._BAR * count / tallest)
    texts = [text.get_text() for text in ax.texts]
    assert texts == [f"{action} (n = {count.sum()})" for action, count in counts.items()]


def test_continuous_beliefs_are_not_cut_in_half_at_the_ends():
    assert plots._histogram_edges(np.linspace(0, 1, 999))[0] == 0.0
    assert plots._histogram_edges(np.array([0.05, 0.15, 0.333]))[0] == -0.025


def test_rare_actions_are_gathered_and_the_order_of_a_categorical_is_kept():
    actions = pd.Categorical([*"zzzyyyxxx", *"wwvvuutsr"], categories=list("zyxwvutsr"))
    labels = plots.action_labels(pd.DataFrame({"action": actions}))
    assert labels.cat.categories.tolist() == ["z", "y", "x", "w", "v", "4 other actions"]
    assert (labels == "4 other actions").sum() == 5


def test_labels_that_look_alike_once_cleaned_stay_apart():
    labels = plots.action_labels(pd.DataFrame({"action": ["yes", "yes\x1b[1m", "yes"]}))
    assert labels.nunique() == 2


def test_mathematics_in_a_label_stays_text(choices, ax):
    plots.plot_belief_histogram(choices(actions=("$x^{", "$$", "\\frac")), ax)
    assert not any(text.get_parse_math() for text in ax.texts)
    svg = plots.render_svg(
        lambda axes: plots.plot_belief_histogram(choices(actions=("$x^{", "$$", "\\frac")), axes),
        key="k",
        title="t",
    )
    assert "$x^{ (n = " in svg


def test_calibration_against_truth_counts_contexts_as_trials():
    table = pd.DataFrame(
        {
            "belief": [0.2] * 6 + [0.8] * 6,
            "truth": ["0", "0", "0", "0", "1", "1"] + ["1"] * 6,
            "context": [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6],
        }
    )
    bins = plots.calibration_table(table, n_bins=2)
    assert bins["outcome"].round(6).tolist() == [0.333333, 1.0]
    assert bins["n_contexts"].tolist() == [3, 3]
    np.testing.assert_allclose(
        bins["low"], proportion_confint([1, 3], 3, method="wilson")[0], atol=1e-9
    )


def test_equal_beliefs_share_a_bin_whatever_the_row_order(choices):
    table = choices(p_true=False)
    shuffled = table.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(plots.calibration_table(table), plots.calibration_table(shuffled))
    assert plots.calibration_table(table)["n_rows"].sum() == len(table)


def test_calibration_prefers_the_exact_posterior_and_shows_one_mark_per_context(choices, ax):
    plots.plot_calibration(choices(), ax)
    (contexts,) = drawn(ax, "contexts")
    assert len(contexts.get_offsets()) == 60
    assert ax.get_ylabel() == "exact posterior"
    assert [ends(line) for line in drawn(ax, "diagonal")] == [[(0, 0), (1, 1)]]


def test_many_contexts_are_thinned(choices, ax):
    plots.plot_calibration(choices(n_contexts=2000, n_reps=1), ax)
    (contexts,) = drawn(ax, "contexts")
    assert 200 <= len(contexts.get_offsets()) <= 400


def test_calibration_without_a_binary_truth_is_refused(choices, ax):
    table = choices(p_true=False).assign(truth="sunny")
    assert plots.calibration_outcome(table) is None
    with pytest.raises(InputError, match="truth must be 0 or 1"):
        plots.plot_calibration(table, ax)


def test_svg_is_deterministic_scalable_and_free_of_outside_references(pairs):
    def draw(axes):
        return plots.plot_pairwise_choice(
            pairs(), ("<script>alert('x')</script>", 'a & b" id="z'), axes
        )

    first = plots.render_svg(draw, key="one", title="Shares <b> & more")
    assert first == plots.render_svg(draw, key="one", title="Shares <b> & more")
    assert "http" not in first
    root = ElementTree.fromstring(first)
    tags = {element.tag for element in root.iter()}
    assert not tags & {"script", "style", "metadata", "image", "a", "foreignObject"}
    assert {"viewBox", "role", "aria-labelledby"} <= set(root.attrib)
    assert "width" not in root.attrib
    assert root.find("title").text == "Shares <b> & more"
    assert any("<script>" in (element.text or "") for element in root.iter("text")), (
        "the label is there, as text"
    )
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(name.startswith("one-") for name in ids)
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)


def test_every_reference_inside_a_figure_has_its_target(choices):
    svg = plots.render_svg(lambda axes: plots.plot_calibration(choices(), axes), key="k", title="t")
    root = ElementTree.fromstring(svg)
    ids = {element.get("id") for element in root.iter()}
    uses = [element.get("href") for element in root.iter("use")]
    assert uses
    assert {use[1:] for use in uses} <= ids


def test_scripts_without_glyphs_here_are_drawn_without_a_warning(choices):
    svg = plots.render_svg(
        lambda axes: plots.plot_belief_histogram(choices(actions=("決める", "待つ")), axes),
        key="k",
        title="t",
    )
    assert "決める (n = " in svg


def test_settings_of_matplotlib_are_left_as_they_were(choices):
    before = dict(mpl.rcParams)
    plots.render_svg(lambda axes: plots.plot_calibration(choices(), axes), key="k", title="t")
    assert dict(mpl.rcParams) == before


def test_no_figure_is_registered_and_other_faces_do_without_matplotlib():
    code = (
        "import sys, coherence.report.terminal, coherence.report.json; assert 'matplotlib' not in sys.modules; "
        "import coherence.report.plots; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
