"""Draws the pictures of README and of docs/checks/: an agent that passes beside one that fails.

    PYTHONPATH=. python docs/pictures/checks.py [FOLDER]

Agents are simulated, numbers and figures are those of the package itself; seeds are fixed.
"""

import io
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import coherence
from coherence.plots import (
    plot_acted_on,
    plot_calibration,
    plot_forest,
    plot_pairwise_choice,
    plot_reliability,
    plot_state_shares,
    plot_stated_chances,
    plot_thresholds,
)
from coherence.plots.style import (
    ACTION_COLOURS,
    BLUE,
    DASHES,
    FAINT,
    belief_axes,
    figure_style,
    probability_scales,
)

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "checks"
SEED = 1
LEGEND = 20.0  # points
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


def by_state(rows: pd.DataFrame) -> Callable[[Axes], Axes]:
    """Plan the shares of yes by belief and state, with the band of the null."""
    belief, action, truth = arrays(rows)
    context = rows["context"]
    return lambda ax: plot_state_shares(
        belief, action, truth, context=context, shown="yes", title="", ax=ax
    )


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


def residual_covariance() -> None:
    """The main test: the same belief, another state, another choice."""
    panels: list[Panel] = []
    for title, agent in (("coherent", "rational"), ("acts on more than it says", "leaky")):
        rows = answers(agent)
        exact = {"exact": rows["p_true"], "context": rows["context"]}
        test = coherence.residual_covariance_test(rows["p"], rows["action"], **exact, rng=SEED)
        panels.append((f"{title}: {p_value(test)}", by_state(rows)))
    write("residual_covariance", *panels, lift=LEGEND)


def sufficiency() -> None:
    """The primary test: points at equal belief, and what choices know and statements do not say."""
    points, shares = {}, {}
    for agent in ("rational", "noisy", "shaded", "leaky"):
        rows = answers(agent)
        found = coherence.sufficiency_test(
            rows["p"], rows["action"], exact=rows["p_true"], context=rows["context"], rng=SEED
        )
        points[f"{agent}, {p_value(found)}"] = found
        share = found.also["hidden_share"]
        if not share.reason:
            ends = coherence.Interval(share.low, share.high)
            shares[agent] = replace(
                found, statistic=share.value, interval=ends, unit="hidden share", pvalue=None
            )
    panels: list[Panel] = [("points at equal belief", effects(points))]
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
    covariance = coherence.residual_covariance_test(*arrays(rows), rng=SEED)
    information = coherence.cmi_test(*arrays(rows), rng=SEED)
    told = answers("rational")
    write(
        "cmi",
        ("coherent", by_state(told)),
        (
            f"turns at .5: cmi {p_value(information)}, covariance {p_value(covariance)}",
            by_state(rows),
        ),
        lift=LEGEND,
    )


def predictive_gain() -> None:
    """What knowing the state saves, by how much the agent hides."""
    gains = {}
    for signal in (0.4, 0.2, 0.1, 0.0):
        rows = answers(clairvoyant(signal))
        name = f"hidden shift {signal}" if signal else "coherent"
        gains[name] = coherence.predictive_gain_test(*arrays(rows), context=rows["context"])
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


def monotone_direction() -> None:
    """Shares of three actions in bins of the belief."""
    panels: list[Panel] = []
    for title, agent in (("coherent", "rational"), ("no order fits", "nonmonotone")):
        rows = answers(agent)
        test = coherence.monotone_direction_test(
            rows["p"], rows["action"], context=rows["context"], rng=SEED
        )
        edges = np.quantile(rows["p"], np.linspace(0, 1, 7))
        bins = pd.cut(rows["p"], np.unique(edges), include_lowest=True, labels=False)
        panels.append((f"{title}: {p_value(test)}", partial(_shares, rows, bins)))
    write("monotone_direction", *panels)


def _shares(rows: pd.DataFrame, bins: pd.Series, ax: Axes) -> None:
    """Draw the share of every action by bin."""
    belief_axes(ax)
    probability_scales(ax)
    mean_belief = rows["p"].groupby(bins).mean()
    for action, colour, marker in zip(("no", "defer", "yes"), ACTION_COLOURS, "so^", strict=False):
        share = (rows["action"] == action).groupby(bins).mean()
        ax.plot(mean_belief, share, color=colour, marker=marker, markersize=4, label=action)
    ax.set(xlabel="stated belief", ylabel="share of the action")
    ax.legend(frameon=False, loc="upper center", ncols=3, fontsize=8)


def _scatter(x: pd.Series, y: pd.Series, labels: Sequence[str], ax: Axes) -> None:
    """Draw one quantity against another that should equal it."""
    belief_axes(ax)
    probability_scales(ax)
    ax.plot([0, 1], [0, 1], color=FAINT, linestyle=DASHES, linewidth=1)
    ax.scatter(x, y, s=9, color=BLUE, alpha=0.6, linewidths=0)
    ax.set(xlabel=labels[0], ylabel=labels[1], aspect="equal")


def prompt_consistency() -> None:
    """Mean belief of each context under two wordings."""
    panels: list[Panel] = []
    for title, agent in (("the wording does not matter", "rational"), ("it does", "wordbound")):
        runs = coherence.simulate(agent, n_contexts=80, n_reps=5, rng=SEED)
        asked = runs[runs["z_state"].isna()]
        means = asked.pivot_table(values="p", index="context", columns="prompt")
        other = "bayes"
        gap = coherence.prompt_consistency(runs, prompts=[other], rng=SEED)
        draw = partial(
            _scatter, means["standard"], means[other], ("reference wording", f"wording '{other}'")
        )
        panels.append((f"{title}: {gap.statistic:.2f}".replace("0.", "."), draw))
    write("prompt_consistency", *panels, height=3.2)


def iterated_expectation() -> None:
    """A belief, and the average of the beliefs given z."""
    panels: list[Panel] = []
    for title, agent in (("beliefs average out", "rational"), ("they do not", "wordbound")):
        runs = coherence.simulate(agent, n_contexts=80, n_reps=5, rng=SEED)
        report = coherence.analyze(runs, checks=["iterated_expectation"], rng=SEED)
        found = report.results.set_index("check")
        p = found.loc["iterated_expectation", "pvalue"]
        gap = found.loc["iterated_expectation:noise_removed", "estimate"]
        told = runs[runs["z_state"].isna() & (runs["prompt"] == "standard")]
        given = runs[runs["z_state"].notna()]
        parts = (given["p"] * given["p_z"]).groupby([given["context"], given["rep"]]).sum()
        averaged = parts.groupby("context").mean()
        stated = told.groupby("context")["p"].mean()
        names = ("belief", "average of beliefs given z")
        draw = partial(_scatter, stated, averaged.reindex(stated.index), names)
        panels.append((f"{title}: gap {gap:.2f}, p = {p:.2f}".replace("0.", "."), draw))
    write("iterated_expectation", *panels, height=3.2)


def calibration() -> None:
    """Beliefs against the exact posterior."""
    panels: list[Panel] = []
    for title, agent in (("calibrated", "rational"), ("overconfident", "miscalibrated")):
        rows = answers(agent, n_contexts=120, n_reps=1)
        panels.append((title, partial(_drawn, plot_calibration, rows)))
    write("calibration", *panels)


def scores() -> None:
    """Outcomes against forecasts, by isotonic regression."""
    panels: list[Panel] = []
    for title, agent in (("calibrated", "rational"), ("overconfident", "miscalibrated")):
        rows = answers(agent, n_contexts=300, n_reps=1)
        options = {"context": rows["context"], "rng": 1}
        result = coherence.calibration_test(rows["p"], rows["theta"], **options)
        plot = partial(plot_reliability, forecasts=rows["p"])
        panels.append((f"{title}: {p_value(result)}", partial(_drawn, plot, result)))
    write("scores", *panels)


def rational_agent() -> None:
    """The difference in choice with reports taken as exact, and with their noise taken off."""
    differences = {}
    for title, agent in (
        ("coherent", coherence.AGENTS["noisy"]),
        ("hidden shift .2", clairvoyant(0.2).with_parameters(report_noise=0.15)),
    ):
        rows = answers(agent)
        for how, check in (
            ("reports as exact", coherence.residual_covariance_test),
            ("noise taken off", coherence.rational_agent_test),
        ):
            name = f"{title}: {how}"
            differences[name] = check(*arrays(rows), context=rows["context"], rng=SEED)
    write("rational_agent", ("", effects(differences)), height=2.2)


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
        actions[title], beliefs[title] = (_of_component(result, name) for name in names)
    write("evidence_leak", ("P(yes)", effects(actions)), ("belief", effects(beliefs)), height=2.4)


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


def action_information() -> None:
    """What the action adds in predicting the state, with the exact posterior and without."""
    gains = {}
    for title, agent in (("noisy reports", "noisy"), ("exact reports", "rational")):
        rows = answers(agent)
        for how, exact in (("the realised state", None), ("the exact posterior", rows["p_true"])):
            gains[f"{title}: {how}"] = coherence.action_information(
                *arrays(rows), exact=exact, context=rows["context"], rng=SEED
            )
    write("action_information", ("", effects(gains)), height=2.2)


def matching() -> None:
    """Belief acted on against the stated one, and choices that go by the order alone."""
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
    share, difference = found["belief"][1:3]
    write(
        "matching",
        (
            f"weight of the posterior {share.statistic:.2f}",
            partial(_drawn, plot_acted_on, difference),
        ),
        ("the chance is not answered", partial(_drawn, plot_stated_chances, found["order"][0])),
        height=3.4,
        lift=LEGEND,
    )


def belief_movement() -> None:
    """Movement and reduction, added up over the turns of streams of signals."""
    rng, n_turns = np.random.default_rng(SEED), 6
    share = np.where(rng.random(400) < 0.5, 0.7, 0.3)[:, None]
    signal = np.where(rng.random((400, n_turns)) < share, 1, -1)
    odds = np.cumsum(np.c_[np.zeros(400), signal * np.log(7 / 3)], axis=1)
    episode, turn = np.indices(odds.shape).reshape(2, -1)
    panels: list[Panel] = []
    for title, weight in (("Bayesian", 1.0), ("overreacts", 1.5), ("underreacts", 0.6)):
        belief = 1 / (1 + np.exp(-weight * odds.ravel()))
        result = coherence.belief_movement_test(belief, turn, episode, computed=True)
        heading = f"{title}: {result.statistic:+.3f}".replace("0.", ".")
        panels.append((heading, partial(_added_up, result.details)))
    write("belief_movement", *panels, height=2.6)


def _added_up(details: pd.DataFrame, ax: Axes) -> None:
    for name, colour in (("movement", BLUE), ("reduction", "black")):
        steps = np.r_[0.0, details[name].cumsum()]
        ax.plot(range(len(steps)), steps, color=colour, label=name, linewidth=1.2)
    ax.set(xlabel="turn", ylabel="added up", ylim=(0, 0.27))
    ax.legend(loc="upper left", frameon=False, fontsize=8)


def stakes() -> None:
    """Own thresholds on the stated ones, of who minds the stakes and who does not."""
    rng, level = np.random.default_rng(SEED), np.tile([0.1, 0.25, 0.5, 0.75, 0.9], 60)
    case, stated = np.repeat(np.arange(60), 5), rng.uniform(size=60)
    panels: list[Panel] = []
    for title, own in (("minds the stakes", level), ("hardly does", 0.4 + 0.2 * level)):
        acts = rng.random(300) < 1 / (1 + np.exp(20 * (own - stated[case])))
        results = coherence.stakes_estimates(
            np.r_[stated, np.full(300, np.nan)],
            np.r_[np.full(60, None), np.where(acts, "act", "pass")],
            np.r_[np.full(60, np.nan), level],
            context=np.r_[np.arange(60), case],
            computed=True,
        )
        slope = next(result for result in results if result.check == "stakes:slope")
        title = f"{title}: slope {slope.statistic:.2f}"
        panels.append((title, partial(_drawn, plot_thresholds, slope)))
    write("stakes", *panels, height=3.4)


PICTURES = (
    doctor,
    sufficiency,
    residual_covariance,
    cmi,
    predictive_gain,
    monotone_choice,
    monotone_direction,
    prompt_consistency,
    iterated_expectation,
    calibration,
    scores,
    rational_agent,
    evidence_leak,
    action_information,
    matching,
    belief_movement,
    stakes,
)

if __name__ == "__main__":
    for draw_picture in PICTURES:
        draw_picture()
