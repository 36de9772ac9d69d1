"""Draws the pictures of README and of docs/checks/: an agent that passes beside one that fails.

    PYTHONPATH=. python docs/pictures/checks.py [FOLDER]

Agents are simulated, numbers and figures are those of the package itself; seeds are fixed.
"""

import io
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import coherence
from coherence.plots import (
    plot_forest,
    plot_offers,
    plot_pairwise_choice,
    plot_reliability,
    plot_state_shares,
)
from coherence.plots.style import (
    BLUE,
    DASHES,
    FAINT,
    PALE,
    STATE_COLOURS,
    VERMILION,
    belief_axes,
    figure_style,
    frame_axes,
    probability_scales,
)

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "checks"
SEED = 1
LEGEND = 20.0  # points
MANY = 5_000  # contexts of pictures that show curves and not single cases
Panel = tuple[str, Callable[[Axes], object]]
Arrays = tuple[pd.Series, pd.Series, pd.Series]


def answers(agent: str | coherence.Agent, n_contexts: int = 200, n_reps: int = 5) -> pd.DataFrame:
    """Simulate an agent; rows that hold a belief, an action and a state."""
    runs = coherence.simulate(agent, n_contexts=n_contexts, n_reps=n_reps, rng=SEED)
    return runs[runs["action"].notna()]


def arrays(rows: pd.DataFrame) -> Arrays:
    """Return belief, action and state."""
    return rows["p"], rows["action"], rows["theta"]


def clairvoyant(signal: float) -> coherence.Agent:
    """Return the agent that acts on part of the state itself."""
    return coherence.AGENTS["clairvoyant"].with_parameters(hidden_signal=signal)


def write(name: str, *panels: Panel, height: float = 2.9, lift: float = 6.0) -> None:
    """Write panels side by side as docs/pictures/checks/NAME.svg, titles above their legends."""
    with figure_style({"svg.fonttype": "path", "font.size": 9.0}):
        figure = Figure(figsize=(7.4, height), layout="constrained")
        for ax, (title, draw) in zip(
            np.atleast_1d(figure.subplots(1, len(panels))), panels, strict=True
        ):
            draw(ax)
            ax.set_title(title, fontsize=9.5, loc="left", pad=lift)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    (FOLDER / f"{name}.svg").write_text(shortened(buffer.getvalue()), encoding="utf-8")


def shortened(svg: str) -> str:
    """Return a picture with coordinates of two decimals and no indents."""
    return re.sub(r"\n +", "\n", re.sub(r"(?<=[ \"])(-?\d+\.\d\d)\d+", r"\1", svg))


def p_value(result: coherence.CheckResult) -> str:
    """Write a p-value as a title does."""
    assert result.pvalue is not None
    return "p < .001" if result.pvalue < 0.001 else f"p = {result.pvalue:.2f}".replace("0.", ".")


def number(value: float, decimals: int = 2) -> str:
    """Write a probability as axes do."""
    return re.sub(r"(?<!\d)0[.]", ".", f"{value:z.{decimals}f}").replace("-", "−")


def difference(result: coherence.CheckResult) -> str:
    """Write a difference between the states in the unit of its axis, as a title does."""
    return f"gap {number(result.statistic)}, {p_value(result)}"


def shares_by_state(rows: pd.DataFrame, n_bins: int = 8) -> pd.DataFrame:
    """Mean belief and share of yes of both states, in bins of belief that both occur in."""
    bins = pd.qcut(rows["p"], n_bins, labels=False, duplicates="drop")
    table = rows.assign(yes=(rows["action"] == "yes").astype(float), bin=bins)
    means = table.groupby(["theta", "bin"])[["p", "yes"]].agg(["mean", "size"])
    few = means["p", "size"] < 10
    return means.xs("mean", axis=1, level=1)[~few]


def by_state(rows: pd.DataFrame) -> Callable[[Axes], None]:
    """Plan the share of yes by belief, a curve for each state, and the gap between the curves."""
    return partial(_curves, shares_by_state(rows))


def _curves(means: pd.DataFrame, ax: Axes) -> None:
    belief_axes(ax)
    probability_scales(ax)
    curves = [means.loc[state] for state in (0, 1)]
    low = max(curve["p"].min() for curve in curves)
    high = min(curve["p"].max() for curve in curves)
    at = np.linspace(low, high, 40)
    below, above = (np.interp(at, curve["p"], curve["yes"]) for curve in curves)
    ax.fill_between(at, below, above, color=PALE, alpha=0.6, linewidth=0, label="gap")
    for curve, colour, marker, label in zip(
        curves, STATE_COLOURS, "so", ("truth = 0", "truth = 1"), strict=True
    ):
        ax.plot(curve["p"], curve["yes"], color=colour, marker=marker, markersize=4, label=label)
    ax.set(xlabel="stated belief", ylabel="share of yes")
    ax.legend(frameon=False, loc="lower right", fontsize=8)


def effects(results: dict[str, coherence.CheckResult]) -> Callable[[Axes], Axes]:
    """Plan the effects of results below each other, under the names given."""
    table = pd.DataFrame([result.to_row() for result in results.values()])
    # One picture may set two checks beside each other; their effects are the same quantity.
    table = table.assign(check="effect", model=list(results))
    return lambda ax: plot_forest(table, title="", ax=ax)


def _drawn(plot: Callable[..., Axes], data: object, ax: Axes) -> Axes:
    """Draw a figure of the package without its own title."""
    return plot(data, title="", ax=ax)


def doctor() -> None:
    """The picture of README: two doctors, of whom one acts on what it does not say."""
    panels: list[Panel] = []
    for title, agent in (("what it says", "rational"), ("what it does not say", "leaky")):
        # Two actions: deferring is worth less than either at any belief.
        treats = coherence.AGENTS[agent].with_parameters(yes_at=0.5, no_at=0.5, defer=-9.0)
        rows = answers(treats, n_contexts=2_000, n_reps=1).replace({"action": {"yes": "treat"}})
        even = rows[rows["p"].between(0.45, 0.55)]
        healthy, ill = (even["action"] == "treat").groupby(even["theta"]).mean()
        told = f"{ill:.0%} of the ill, {healthy:.0%} of the healthy"
        panels.append((f"acts on {title}; treats at 50%\n{told}", partial(_treated, rows)))
    write("doctor", *panels, lift=LEGEND, height=3.3)


def _treated(rows: pd.DataFrame, ax: Axes) -> None:
    """Draw how often those are treated who are ill, and those who are not."""
    named = {"noun": "stated probability of illness", "states": ("healthy", "ill"), "title": ""}
    plot_state_shares(*arrays(rows), context=rows["context"], shown="treat", **named, ax=ax)
    ax.set_ylabel("share treated")


def equal_belief() -> None:
    """What the primary test looks at: the same belief, another state, another choice."""
    panels: list[Panel] = []
    for title, agent in (("coherent", "rational"), ("acts on more than it says", "leaky")):
        rows = answers(agent, n_contexts=MANY, n_reps=1)
        exact = {"exact": rows["p_true"], "context": rows["context"]}
        test = coherence.sufficiency_test(rows["p"], rows["action"], **exact, rng=SEED)
        panels.append((f"{title}: {difference(test)}", by_state(rows)))
    write("equal_belief", *panels)


def sufficiency() -> None:
    """The primary test: choice at equal belief, and what choices know and statements leave out."""
    differences, shares = {}, {}
    for agent in ("rational", "noisy", "shaded", "leaky"):
        rows = answers(agent)
        found = coherence.sufficiency_test(
            rows["p"], rows["action"], exact=rows["p_true"], context=rows["context"], rng=SEED
        )
        differences[f"{agent}: {number(found.statistic)}"] = found
        share = found.also["hidden_share"]
        if not share.reason:
            ends = coherence.Interval(share.low, share.high)
            shares[f"{agent}: {number(share.value)}"] = replace(
                found, statistic=share.value, interval=ends, unit="hidden share"
            )
    panels: list[Panel] = [("difference at equal belief", effects(differences))]
    panels.append(("hidden share", effects(shares)))
    write("sufficiency", *panels)


def cmi() -> None:
    """A dependence that changes its direction: the average shift is nothing, information is not."""
    rng = np.random.default_rng(SEED)
    belief = np.round(rng.uniform(size=1000), 2)
    truth = (rng.uniform(size=1000) < belief).astype(int)
    turning = np.where(belief < 0.5, 1.0, -1.0) * (truth - 0.5)
    log_odds = 5 * (belief - 0.5) + 2.2 * turning
    action = np.where(rng.uniform(size=1000) < 1 / (1 + np.exp(-log_odds)), "yes", "no")
    rows = pd.DataFrame({"p": belief, "action": action, "theta": truth, "context": range(1000)})
    found = coherence.sufficiency_test(*arrays(rows), rng=SEED)
    direction = replace(found, pvalue=found.settings["p_direction"])
    information = coherence.cmi_test(*arrays(rows), rng=SEED)
    coherent = answers("rational", n_contexts=MANY, n_reps=1)
    of_coherent = coherence.cmi_test(*arrays(coherent), rng=SEED)
    write(
        "cmi",
        (f"coherent: {p_value(of_coherent)}", by_state(coherent)),
        (f"turns at .5: {p_value(information)} (direction {p_value(direction)})", by_state(rows)),
    )


def predictive_gain() -> None:
    """What knowing the state saves, by how much the agent hides."""
    gains = {}
    for signal in (0.4, 0.2, 0.1, 0.0):
        rows = answers(clairvoyant(signal))
        gain = coherence.predictive_gain_test(*arrays(rows), context=rows["context"])
        name = f"hidden shift {signal}".replace("0.", ".") if signal else "coherent"
        gains[f"{name}: {number(gain.statistic, 1)}%"] = gain
    write("predictive_gain", ("", effects(gains)), height=2.2)


def monotone_choice() -> None:
    """Choices that rise with the belief, and choices that turn back."""
    panels: list[Panel] = []
    for title, agent in (("coherent", "rational"), ("yes at middling beliefs", "nonmonotone")):
        rows = answers(agent)
        test = coherence.monotone_choice_test(
            rows["p"], rows["action"], pair=("yes", "no"), context=rows["context"], rng=SEED
        )
        draw = partial(_drawn, plot_pairwise_choice, test)
        panels.append((f"{title}: {p_value(test)}", draw))
    write("monotone_choice", *panels, lift=LEGEND)


def _agreement(x: pd.Series, y: pd.Series, labels: tuple[str, str], ax: Axes) -> None:
    """Draw one quantity against another that should equal it, and how far it is off."""
    belief_axes(ax)
    probability_scales(ax)
    ax.plot([0, 1], [0, 1], color=FAINT, linestyle=DASHES, linewidth=1)
    # One path for all gaps, which keeps the file small.
    ends = np.column_stack([x, y, np.full(len(x), np.nan)]).ravel()
    ax.plot(np.repeat(x, 3), ends, color=VERMILION, linewidth=0.8)
    ax.plot(x, y, "o", markersize=2.5, color=BLUE)
    ax.set(xlabel=labels[0], ylabel=labels[1], aspect="equal")


def prompt_consistency() -> None:
    """Mean belief of each case under two prompt variants."""
    panels: list[Panel] = []
    for title, agent in (("the variant does not matter", "rational"), ("it does", "wordbound")):
        runs = coherence.simulate(agent, n_contexts=40, n_reps=5, rng=SEED)
        asked = runs[runs["z_state"].isna()]
        means = asked.pivot_table(values="p", index="context", columns="prompt")
        other = "bayes"
        gap = coherence.prompt_consistency(runs, prompts=[other], rng=SEED)
        labels = ("belief, reference variant", f"belief, variant '{other}'")
        draw = partial(_agreement, means["standard"], means[other], labels)
        panels.append((f"{title}: {gap.statistic:.2f}".replace("0.", "."), draw))
    write("prompt_consistency", *panels, height=3.2)


def iterated_expectation() -> None:
    """A belief, and the average of the beliefs given z: equal, off one way, off both ways."""
    panels: list[Panel] = []
    for title, agent, raised in (
        ("they average out", "rational", 0.0),
        ("too high given z", "rational", 0.1),
        ("pulled to one half", "wordbound", 0.0),
    ):
        runs = coherence.simulate(agent, n_contexts=40, n_reps=5, rng=SEED)
        given = runs["z_state"].notna()
        runs.loc[given, "p"] = np.minimum(runs.loc[given, "p"] + raised, 1.0)
        report = coherence.analyze(runs, checks=["iterated_expectation"], rng=SEED)
        results = report.results.set_index("check")
        p = results.loc["iterated_expectation", "pvalue"]
        size = results.loc["iterated_expectation:noise_removed", "estimate"]
        reference = runs[~given & (runs["prompt"] == "standard")]
        parts = runs[given].assign(part=runs["p"] * runs["p_z"])
        averaged = parts.groupby(["context", "rep"])["part"].sum().groupby("context").mean()
        stated = reference.groupby("context")["p"].mean()
        labels = ("belief before z", "average of beliefs given z")
        draw = partial(_agreement, stated, averaged.reindex(stated.index), labels)
        of_test = "p < .001" if p < 0.001 else f"p = {p:.2f}"
        panels.append((f"{title}\nsize {size:.2f}, {of_test}".replace("0.", "."), draw))
    write("iterated_expectation", *panels, height=3.0)


def calibration() -> None:
    """Outcomes against forecasts, by isotonic regression."""
    panels: list[Panel] = []
    for title, agent in (("calibrated", "rational"), ("overconfident", "miscalibrated")):
        rows = answers(agent, n_contexts=300, n_reps=1)
        options = {"context": rows["context"], "rng": 1}
        result = coherence.calibration_test(rows["p"], rows["theta"], **options)
        plot = partial(plot_reliability, forecasts=rows["p"])
        panels.append((f"{title}: {p_value(result)}", partial(_drawn, plot, result)))
    write("calibration", *panels)


def evidence_leak() -> None:
    """Differences between the states at equal posterior: of actions, and of beliefs."""
    actions, beliefs = {}, {}
    told = answers("rational")
    clairvoyant = coherence.AGENTS["clairvoyant"].with_parameters(hidden_signal=0.2)
    given_away = np.clip(told["p"] + 0.05 * (told["theta"] - 0.5), 0, 1)
    for title, rows in (
        ("beliefs see the state", told.assign(p=given_away)),
        ("actions see the state", answers(clairvoyant)),
        ("overconfident", answers("miscalibrated")),
        ("coherent", told),
    ):
        result = coherence.evidence_leak_test(
            *arrays(rows), rows["p_true"], context=rows["context"], rng=SEED
        )
        names = [result.settings["component"], "mean belief, state 1 less 0"]
        for found, name, decimals in zip((actions, beliefs), names, (2, 3), strict=True):
            of = _of_component(result, name)
            found[f"{title}: {number(of.statistic, decimals)}"] = of
    titles = "share of yes", "stated belief"
    panels = zip(titles, map(effects, (actions, beliefs)), strict=True)
    write("evidence_leak", *panels, height=2.4)


def _of_component(result: coherence.CheckResult, name: str) -> coherence.CheckResult:
    """Return the result of one line of the details, with the p-value of that line."""
    line = result.details.set_index("component").loc[name]
    interval = coherence.Interval(float(line["low"]), float(line["high"]))
    return replace(
        result,
        statistic=float(line["estimate"]),
        interval=interval,
        pvalue=float(line["pvalue"]),
    )


TITLES = {"belief": "answers the stated chance", "order": "takes what is named first"}


def matching() -> None:
    """Choices that answer the stated chance, and choices that go by the order alone."""
    rng, case = np.random.default_rng(SEED), np.repeat(np.arange(60), 20)
    exact = rng.uniform(0.05, 0.95, 60)
    stated = np.clip(exact + rng.normal(0, 0.15, 60), 0, 1)
    level = np.tile(np.arange(5, 100, 10).repeat(2) / 100, 60)
    first = np.tile(["event", "lottery"], 600)
    acted_on = (stated + exact)[case] / 2
    by_belief = 1 / (1 + np.exp(20 * (level - acted_on)))
    found = {}
    for title, chance in (("belief", by_belief), ("order", np.where(first == "event", 0.9, 0.1))):
        chosen = np.where(rng.random(1200) < chance, "event", "lottery")
        found[title] = coherence.matching_estimates(
            np.r_[stated, np.full(1200, np.nan)],
            np.r_[np.full(60, None), chosen],
            np.r_[np.full(60, np.nan), level],
            exact=np.r_[exact, exact[case]],
            order=np.r_[np.full(60, None), first],
            context=np.r_[np.arange(60), case],
            computed=True,
        )
    panels = [
        (
            f"{title}: swing {number(found[of][0].statistic)}",
            partial(_drawn, plot_offers, found[of][0]),
        )
        for of, title in TITLES.items()
    ]
    write("matching", *panels, height=3.0)


def stakes() -> None:
    """Shares that act by belief and stake, of who minds the stakes and who does not."""
    rng, penalty = np.random.default_rng(SEED), np.tile([0, 1, 3, 9, 30], 200)
    case, stated = np.repeat(np.arange(200), 5), rng.uniform(0.1, 0.95, 200)
    panels: list[Panel] = []
    for title, own in (("minds the stakes", penalty / (1 + penalty)), ("ignores them", 0.4)):
        acts = rng.random(1000) < 1 / (1 + np.exp(20 * (own - stated[case])))
        action = np.where(acts, "answer", "abstain")
        results = coherence.stakes_estimates(
            stated[case], action, penalty, acts="answer", context=case, computed=True
        )
        moved = number(results[0].statistic)
        panels.append((f"{title}: movement {moved}", partial(_drawn, plot_offers, results[0])))
    write("stakes", *panels, height=3.4)


def threshold() -> None:
    """Shares of the higher action by stated belief, and where it has half of the choices."""
    rng, panels = np.random.default_rng(SEED), list[Panel]()
    for at in (0.5, 0.25):
        belief = np.round(rng.uniform(0.02, 0.98, 200) * 20) / 20
        action = np.where(rng.random(200) < 1 / (1 + np.exp(15 * (at - belief))), "treat", "wait")
        (found,) = coherence.threshold_estimates(belief, action, computed=True)
        title = f"changes at {found.statistic:.2f}".replace("0.", ".")
        panels.append((title, partial(_changes, belief, action == "treat", found)))
    write("threshold", *panels)


def _changes(
    belief: np.ndarray, treats: np.ndarray, found: coherence.CheckResult, ax: Axes
) -> None:
    shares = pd.Series(treats).groupby(belief).agg(["mean", "size"])
    ax.axvspan(found.low, found.high, color="0.85", linewidth=0)
    ax.axvline(found.statistic, color="0.4", linestyle=":", linewidth=1)
    ax.scatter(shares.index, shares["mean"], s=2.5 * shares["size"], color="#0072B2")
    ax.set(xlabel="stated belief", ylabel="share of treat")
    frame_axes(ax)
    probability_scales(ax)


PICTURES = (
    doctor,
    sufficiency,
    equal_belief,
    cmi,
    predictive_gain,
    monotone_choice,
    prompt_consistency,
    iterated_expectation,
    calibration,
    evidence_leak,
    matching,
    stakes,
    threshold,
)

if __name__ == "__main__":
    for draw_picture in PICTURES:
        draw_picture()
