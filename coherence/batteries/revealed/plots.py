"""Figures of revealed beliefs: outcomes over the truth, the same after each earlier result, and both orders of two options.

As in figures 2, 5 and 7 of the paper named in `coherence.batteries.revealed.distances`. Every plot
takes a belief table (`coherence.batteries.revealed.tables.BELIEFS`) and an ``ax`` and returns the
``ax``; bars are means over the wordings, and small marks the single wordings. Text from data is
never read as mathematics.
"""

import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from coherence.inputs import Floats, require
from coherence.report.plots import ACTION_COLOURS, FAINT, INK
from coherence.report.wording import clean

_STYLE = {"font.family": "sans-serif", "font.size": 9.0, "text.usetex": False}
_TRUTH = "#cfcfcf"
_ROOM = 0.82  # of the distance between two outcomes, shared by the bars of the sources
_MOST_LABELS = 16
_TITLE = 38  # letters of a title
_LABEL = 14  # letters of a label in a line
_MOST_MARKED = 40  # bars; on more of them the marks of the wordings would be a blur
_MOST_PREVIOUS = 4
_MOST_SOURCES = 4  # in figures that have panels of their own for each


def wording_beliefs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the beliefs of one source in one setting, renormalised: a row per wording, a column per outcome in the order of the text.

    Parameters
    ----------
    rows : DataFrame
        Rows of a belief table; those of a single source and setting.

    Returns
    -------
    DataFrame
        Wordings without any probability on the outcomes are left out.
    """
    order = list(
        rows.sort_values("position", kind="stable")["outcome"].astype(str).drop_duplicates()
    )
    masses = rows.assign(outcome=rows["outcome"].astype(str)).pivot(
        index="wording", columns="outcome", values="mass"
    )[order]
    total = masses.sum(axis=1)
    return masses[total > 0].div(total[total > 0], axis=0)


def _of_setting(beliefs: pd.DataFrame, setting: str) -> pd.DataFrame:
    rows = beliefs[beliefs["setting"] == setting]
    require(len(rows) > 0, f"setting must be one of the table; received {setting!r}.")
    return rows


def _truth_of(rows: pd.DataFrame) -> Floats:
    return (
        rows.sort_values("position", kind="stable")
        .drop_duplicates("outcome")["truth"]
        .to_numpy(dtype=np.float64)
    )


def _frame(ax: Axes, outcomes: Sequence[str]) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(colors=INK, length=3)
    step = math.ceil(len(outcomes) / _MOST_LABELS)
    places = range(0, len(outcomes), step)
    lines = 1 if len(outcomes) > 4 else 2
    ax.set_xticks(
        list(places),
        [
            fill(clean(outcomes[place], limit=40), _LABEL, max_lines=lines, placeholder="…")
            for place in places
        ],
    )
    ax.grid(True, axis="y", color="#ececec", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.set_ylabel("probability")


def _note_unread(ax: Axes, names: Sequence[str]) -> None:
    """Say above the bars of whom no belief was read."""
    if names:
        ax.set_ylim(0, ax.get_ylim()[1] * (1.1 + 0.12 * len(names)))
        lines = "\n".join(f"no belief read of {name}" for name in names)
        ax.text(
            0.02,
            0.97,
            lines,
            transform=ax.transAxes,
            ha="left",
            va="top",
            fontsize=7.5,
            color=INK,
            parse_math=False,
            zorder=6,
        )


def _plain_labels(ax: Axes) -> None:
    # A label from data may hold a dollar sign, which matplotlib would read as the beginning of a
    # formula.
    texts = [
        *ax.get_xticklabels(),
        ax.title,
        ax.xaxis.label,
        *(legend.get_texts() if (legend := ax.get_legend()) else []),
    ]
    for text in texts:
        text.set_parse_math(False)


def plot_outcomes(beliefs: pd.DataFrame, setting: str, ax: Axes) -> Axes:
    """Draw the revealed belief of every source over the truth.

    Parameters
    ----------
    beliefs : DataFrame
        A belief table.
    setting : str
        Name of one setting in it.
    ax : Axes
        Where to draw.

    Returns
    -------
    Axes
        `ax`; wide grey bars are the truth, narrow ones a source each, points its wordings (if there
        are not too many bars).

    Raises
    ------
    InputError
        There is no such setting.
    """
    rows = _of_setting(beliefs, setting)
    sources = list(dict.fromkeys(rows["source"]))
    truth = _truth_of(rows)
    places = np.arange(len(truth))
    ax.bar(places, truth, width=0.94, color=_TRUTH, label="truth", zorder=1)
    width = _ROOM / len(sources)
    outcomes: list[str] = []
    unread = []
    for number, source in enumerate(sources):
        belief = wording_beliefs(rows[rows["source"] == source])
        outcomes = list(belief.columns)
        if belief.empty:
            unread.append(clean(source, limit=20))
            continue
        at = places + (number - (len(sources) - 1) / 2) * width
        colour = ACTION_COLOURS[number % len(ACTION_COLOURS)]
        ax.bar(
            at,
            belief.mean().to_numpy(),
            width=width * 0.86,
            color=colour,
            alpha=0.85,
            label=clean(source, limit=30),
            zorder=2,
        )
        if len(belief) > 1 and len(truth) * len(sources) <= _MOST_MARKED:
            for _, wording in belief.iterrows():
                ax.scatter(at, wording.to_numpy(), s=7, color=INK, linewidth=0, zorder=3)
    _frame(ax, outcomes)
    _note_unread(ax, unread)
    ax.legend(
        frameon=False,
        fontsize=8,
        loc="upper left",
        bbox_to_anchor=(0.0, -0.12),
        ncols=4,
        handlelength=1.2,
        columnspacing=1.0,
        borderaxespad=0.4,
    )
    _plain_labels(ax)
    return ax


def plot_previous(
    beliefs: pd.DataFrame, baseline: str, variant: str, ax: Axes, *, source: str
) -> Axes:
    """Draw the belief without an earlier result, and over it the beliefs after some.

    Parameters
    ----------
    beliefs : DataFrame
        A belief table with the column `variant`.
    baseline : str
        Name of the setting without earlier results.
    variant : str
        "independent" or "dependent"; the beliefs of the latter are shifted back, so that all should
        agree.
    ax : Axes
        Where to draw.
    source : str
        Whose beliefs.

    Returns
    -------
    Axes
        `ax`; a line per earlier result, four of them at most, evenly spread. A ring marks the
        outcome that would repeat the earlier result.

    Raises
    ------
    InputError
        There is no such setting, or nothing after an earlier result.
    """
    own = beliefs[beliefs["source"] == source]
    alone = _of_setting(own, baseline)
    later = own[(own["baseline"] == baseline) & (own["variant"] == variant)]
    require(
        len(later) > 0, f"beliefs must hold {variant} settings after {baseline!r}; they hold none."
    )
    truth = _truth_of(alone)
    belief = wording_beliefs(alone)
    outcomes = list(belief.columns)
    places = np.arange(len(truth))
    ax.bar(places, truth, width=0.94, color=_TRUTH, label="truth", zorder=1)
    ax.plot(
        places,
        belief.mean().to_numpy(),
        color=INK,
        linewidth=2.0,
        marker="s",
        markersize=4,
        label="no earlier result",
        zorder=3,
    )
    settings = list(dict.fromkeys(later["setting"]))
    shown = [
        settings[place]
        for place in np.unique(
            np.linspace(0, len(settings) - 1, min(len(settings), _MOST_PREVIOUS))
            .round()
            .astype(int)
        )
    ]
    for number, setting in enumerate(shown):
        rows = later[later["setting"] == setting]
        previous = str(rows["previous"].iloc[0])
        after = wording_beliefs(rows).mean().to_numpy()
        colour = ACTION_COLOURS[number % len(ACTION_COLOURS)]
        style = ("-", "--", "-.", ":")[number % 4]
        ax.plot(
            places,
            after,
            color=colour,
            linewidth=1.5,
            linestyle=style,
            marker="o",
            markersize=3,
            label=f"after {clean(previous, limit=12)}",
            zorder=4,
        )
        if previous in outcomes:
            place = outcomes.index(previous)
            ax.scatter(
                [place],
                [after[place]],
                s=80,
                facecolor="none",
                edgecolor=colour,
                linewidth=1.4,
                zorder=5,
            )
    _frame(ax, outcomes)
    if variant == "dependent":
        ax.set_xlabel("outcome less the earlier result")
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _plain_labels(ax)
    return ax


def plot_orders(beliefs: pd.DataFrame, pair: str, ax: Axes, *, source: str) -> Axes:
    """Draw the probability of each of two options, where the text names it first and where it names it second.

    Parameters
    ----------
    beliefs : DataFrame
        A belief table.
    pair : str
        Shared by the two settings.
    ax : Axes
        Where to draw.
    source : str
        Whose beliefs.

    Returns
    -------
    Axes
        `ax`; full bars are an option that stands first, hatched ones second, grey lines the truth.

    Raises
    ------
    InputError
        There is no such pair in both orders.
    """
    rows = beliefs[(beliefs["source"] == source) & (beliefs["pair"] == pair)]
    settings = list(dict.fromkeys(rows["setting"]))
    require(
        len(settings) == 2, f"pair must be two settings of the table; {pair!r} has {len(settings)}."
    )
    options = list(dict.fromkeys(rows["outcome"].astype(str)))
    truth = rows.drop_duplicates("outcome").set_index("outcome")["truth"]
    for setting in settings:
        belief = wording_beliefs(rows[rows["setting"] == setting])
        for place, option in enumerate(belief.columns):
            at = options.index(option) + (place - 0.5) * 0.4
            hatch = "" if place == 0 else "////"
            label = f"named {('first', 'second')[place]}" if option == options[0] else None
            ax.bar(
                at,
                belief[option].mean(),
                width=0.36,
                color=ACTION_COLOURS[place],
                alpha=0.85,
                hatch=hatch,
                edgecolor="white",
                label=label,
                zorder=2,
            )
            ax.scatter([at] * len(belief), belief[option], s=9, color=INK, linewidth=0, zorder=3)
    for place, option in enumerate(options):
        label = "truth" if place == 0 else None
        ax.plot(
            [place - 0.45, place + 0.45],
            [truth[option]] * 2,
            color=FAINT,
            linewidth=2,
            linestyle=(0, (3, 1.5)),
            label=label,
            zorder=4,
        )
    _frame(ax, options)
    ax.set_ylim(0, 1.0)
    ax.set_xlim(-0.6, len(options) - 0.4)
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _plain_labels(ax)
    return ax


def _save(
    path: Path,
    panels: Sequence[tuple[str, Callable[[Axes], Axes]]],
    *,
    columns: int,
    size: tuple[float, float],
    shared: bool,
) -> None:
    """Draw panels on a grid and write them as PNG, with one legend for all of them if `shared`."""
    columns = min(columns, len(panels))
    with rc_context(_STYLE):
        figure = Figure(
            figsize=(size[0] * columns, size[1] * math.ceil(len(panels) / columns)),
            layout="constrained",
            dpi=150,
        )
        FigureCanvasAgg(figure)
        for number, (title, draw) in enumerate(panels):
            ax = draw(figure.add_subplot(math.ceil(len(panels) / columns), columns, number + 1))
            ax.set_title(title, fontsize=9.5, color=INK, loc="left", parse_math=False)
            if number % columns:
                ax.set_ylabel("")
            if shared and (legend := ax.get_legend()):
                legend.remove()
        if shared:
            handles, labels = max(
                (ax.get_legend_handles_labels() for ax in figure.axes),
                key=lambda found: len(found[1]),
            )
            for text in figure.legend(
                handles, labels, loc="outside lower center", ncols=5, frameon=False
            ).get_texts():
                text.set_parse_math(False)
        figure.savefig(path, metadata={"Software": None})


def _title(rows: pd.DataFrame) -> str:
    return _clipped(str(rows["setting"].iloc[0]).split("/", 2)[-1].replace("/", ", "))


def write_figures(beliefs: pd.DataFrame, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the figures that a belief table allows.

    Parameters
    ----------
    beliefs : DataFrame
        A belief table with the column `variant`.
    folder : path-like
        Where to; it exists.

    Returns
    -------
    list of Path
        ``outcomes.png`` (six single experiments at most), ``previous.png`` (one history of each
        scenario and variant) and ``orders.png`` (both orders of every pair), the latter two with
        panels for each of the first four sources; as far as there is something to draw.
    """
    written = []
    single = beliefs[beliefs["variant"] == "single"]
    panels: list[tuple[str, Callable[[Axes], Axes]]] = [
        (title, partial(plot_outcomes, beliefs, name)) for title, name in _examples(single)
    ]
    if panels:
        written.append(Path(folder) / "outcomes.png")
        _save(written[-1], panels, columns=3, size=(3.5, 2.5), shared=True)
    panels = []
    sources = list(dict.fromkeys(beliefs["source"]))[:_MOST_SOURCES]
    for baseline, variant in _histories(beliefs):
        later = (beliefs["baseline"] == baseline) & (beliefs["variant"] == variant)
        for source in sources:  # those of a history stand side by side
            read = _is_read(beliefs, source, beliefs["setting"] == baseline) and _is_read(
                beliefs, source, later
            )
            draw = (
                partial(plot_previous, beliefs, baseline, variant, source=source)
                if read
                else partial(_empty, source)
            )
            panels.append(
                (
                    f"{_title(_of_setting(beliefs, baseline))}, {variant}{_of_source(source, sources)}",
                    draw,
                )
            )
    if panels:
        written.append(Path(folder) / "previous.png")
        _save(
            written[-1],
            panels,
            columns=3 if len(sources) == 3 else 2,
            size=(5.4, 2.6),
            shared=False,
        )
    panels = []
    orders = single.groupby(["source", "pair"], sort=False)["setting"].transform("nunique")
    paired = single[(single["pair"] != "") & (orders == 2)]
    sources = [source for source in sources if _is_read(paired, source, paired["pair"] != "")]
    for pair in dict.fromkeys(paired["pair"]):
        for source in sources:
            own = paired[(paired["source"] == source) & (paired["pair"] == pair)]
            read = bool((own["mass"] > 0).any())
            draw = (
                partial(plot_orders, beliefs, str(pair), source=source)
                if read
                else partial(_empty, source)
            )
            panels.append(
                (f"{_clipped(str(pair).rpartition('/')[2])}{_of_source(source, sources)}", draw)
            )
    if panels:
        written.append(Path(folder) / "orders.png")
        _save(
            written[-1],
            panels,
            columns=3 if len(sources) == 1 else len(sources),
            size=(3.3, 2.4),
            shared=True,
        )
    return written


def _clipped(name: str) -> str:
    """Shorten a long name in its middle: what it ends with tells it from others."""
    text = clean(name, limit=200)
    return text if len(text) <= _TITLE else f"{text[: _TITLE // 2]}…{text[-_TITLE // 2 :]}"


def _is_read(beliefs: pd.DataFrame, source: str, mask: "pd.Series[bool]") -> bool:
    """Return whether a source has a belief with any probability among the rows of a mask."""
    return bool((beliefs.loc[mask & (beliefs["source"] == source), "mass"] > 0).any())


def _of_source(source: str, sources: Sequence[str]) -> str:
    return f"\n{clean(source, limit=30)}" if len(sources) > 1 else ""


def _empty(source: str, ax: Axes) -> Axes:
    """Leave a panel empty, and say why, so that the others stay in their columns."""
    ax.set_axis_off()
    ax.text(
        0.5,
        0.5,
        f"no belief read of\n{clean(source, limit=30)}",
        transform=ax.transAxes,
        ha="center",
        color=INK,
        parse_math=False,
    )
    return ax


def _examples(single: pd.DataFrame) -> list[tuple[str, str]]:
    """Choose up to six single experiments: two groups of dice and of preferences, one of each other scenario."""
    found = []
    for scenario, count in {
        "dice": 2,
        "coins": 1,
        "choice": 1,
        "preference": 2,
        "counts": 1,
    }.items():
        rows = single[single["scenario"] == scenario]
        groups = list(dict.fromkeys(rows["group"]))
        middle = len(groups) // 2
        for group in dict.fromkeys(
            groups[place] for place in ([0, middle] if count == 2 else [middle]) if groups
        ):
            names = list(dict.fromkeys(rows.loc[rows["group"] == group, "setting"]))
            name = names[min(1, len(names) - 1)] if scenario == "dice" else names[0]
            found.append((_title(rows[rows["setting"] == name]), name))
    return found[:6]


def _histories(own: pd.DataFrame) -> list[tuple[str, str]]:
    """Choose baselines with settings after earlier results: one of each scenario, in each variant."""
    later = own[
        own["baseline"].isin(set(own["setting"]))
        & own["variant"].isin(["independent", "dependent"])
    ]
    found = []
    for scenario, place in {"dice": 1, "coins": 0, "choice": 1}.items():
        baselines = list(dict.fromkeys(later.loc[later["scenario"] == scenario, "baseline"]))
        if baselines:
            baseline = baselines[min(place, len(baselines) - 1)]
            found += [
                (baseline, variant)
                for variant in dict.fromkeys(later.loc[later["baseline"] == baseline, "variant"])
            ]
    return found
