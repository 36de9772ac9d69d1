"""The figures of the main test of one (task, model): choices by belief and realised state."""

from functools import partial

import pandas as pd

from coherence.plots.scales import WHOLE_FROM, Span, shared_spans
from coherence.plots.states import (
    judged,
    plot_state_shares,
    rising_action,
    shares_by_state,
    shown_shares,
    title_of,
)
from coherence.rational.noisy_shares import NoisyShares, with_noise
from coherence.report.answer_links import AnswerLinks
from coherence.report.planned_figure import Figure, own_scale
from coherence.report.unit import Unit
from coherence.report.wording import format_numbers
from coherence.result import Outcome
from coherence.statistics.scatter import Scatter
from coherence.statistics.state_shares import CONTEXTS_PER_STATE, StateShares

MOST_ACTIONS = 4
COVARIANCE, RATIONAL = "residual_covariance", "rational_agent"
"""The tests of what the bars allow: of reports as they are, and with the noise around them."""
POINT = 0.05  # height of a point and its edge over that of the axis


def state_figures(
    unit: Unit, key: str, noun: str, links: AnswerLinks | None = None
) -> tuple[list[Figure], list[str]]:
    """Plan a figure of choices by state for each action, or say why there is none."""
    found = shares_by_state(unit.beliefs)
    if found.reason:
        return [], [f"No plot of choices by state: {found.reason}."]
    found, noisy = _allowing_for_noise(unit, found)
    table = found.table
    actions = _drawn(table)
    left_out = table["action"].nunique() - max(len(actions), 2)
    sentence = (
        f"Of {table['action'].nunique()} actions, the {MOST_ACTIONS} whose shares differ most from "
        "what beliefs alone would give are drawn by state."
    )
    urls, names = _links(found, judged(unit.beliefs), key, links)
    figures: list[Figure] = []
    scales = shared_spans([shown_shares(table[table["action"] == action]) for action in actions])
    for number, action in enumerate(actions, start=1):
        of_action = table[table["action"] == action]
        scale = scales[number - 1]
        draw = partial(
            plot_state_shares, found, shown=action, noun=noun, title="", urls=urls, scale=scale
        )
        title = title_of(action)
        outside = _outside(of_action, _rejecting(unit, table, noisy=noisy))
        explained = "" if figures else _explained(table, noun, unit.scatter, noisy=noisy)
        caption = " ".join(filter(None, [explained, _hidden_bars(of_action, scale), outside]))
        caption += own_scale(scale, scales)
        figures.append(Figure(f"{key}-states-{number}", title, caption, draw, 3.7, names))
    return figures, [sentence] if left_out > 0 else []


def is_lead(figure: Figure) -> bool:
    """Tell whether a figure is one of the main test."""
    return "-states-" in figure.key


def _drawn(table: pd.DataFrame) -> list[object]:
    """Choose the actions to draw, in the order of the table."""
    actions = list(dict.fromkeys(table["action"]))
    if len(actions) == 2:
        return [rising_action(table)]  # it reads more easily than one that falls
    half = (table["band_high"] - table["band_low"]).clip(lower=1e-9)
    away = ((table["share"] - table["expected"]).abs() / half).groupby(table["action"]).max()
    kept = set(away.sort_values(ascending=False, kind="stable").index[:MOST_ACTIONS])
    return [action for action in actions if action in kept]


def _rejecting(unit: Unit, table: pd.DataFrame, *, noisy: bool) -> str:
    """Return the test of what the bars allow where it rejects and no point of any action does."""
    name = RATIONAL if noisy else COVARIANCE
    rejects = any(
        result.check == name and result.outcome() is Outcome.REJECTED for result in unit.results
    )
    return name if rejects and not table["outside"].any() else ""


def _outside(shown: pd.DataFrame, rejecting: str) -> str:
    """Say how many points beliefs alone do not allow, and what a test sees that they do not."""
    n_outside = int(shown["outside"].sum())
    if not n_outside:
        # Else a reader takes the figure for the answer.
        beyond = (
            f" {rejecting} rejects all the same: it adds up over all beliefs what no single point "
            "shows."
        )
        return "No point lies outside its bar." + (beyond if rejecting else "")
    verb = "lies outside its bar" if n_outside == 1 else "lie outside their bars"
    return f"{n_outside} of {len(shown)} points {verb} (ringed)."


def _hidden_bars(shown: pd.DataFrame, scale: Span) -> str:
    """Say where bars are so low that the points hide them, as of choices that hardly vary."""
    tallest = float((shown["band_high"] - shown["band_low"]).max())
    span = scale[1] - scale[0]
    if tallest >= POINT * (1.0 if span >= WHOLE_FROM else span):
        return ""
    height = format_numbers([tallest])[0]
    return f"Here the points hide their bars, or nearly: they are at most {height} high."


def _allowing_for_noise(unit: Unit, found: StateShares) -> tuple[StateShares, bool]:
    """Let the bars allow for scatter where it misleads and the agent behind it was fitted."""
    fitted = [result.fitted for result in unit.results if isinstance(result.fitted, NoisyShares)]
    if not fitted or unit.scatter is None or not unit.scatter.misleads:
        return found, False
    rows = judged(unit.beliefs)
    names = ("belief", "action", "truth", "context")
    return with_noise(found, fitted[0], *(rows[name] for name in names)), True


def _explained(table: pd.DataFrame, noun: str, scatter: Scatter | None, *, noisy: bool) -> str:
    """Say how the figure is read; once for all actions."""
    of_all = "bins and actions" if table["action"].nunique() > 2 else "bins"
    points = (
        "Points: share of the action where the state was 0 or 1 (1 is the one whose probability "
        "the belief is), with 95% intervals over contexts."
    )
    sure = (
        f"all points of all {of_all} would lie in their bars in at least 95% of tables "
        "(simultaneous, contexts as units)"
    )
    fewest = f"In a bin, each state has at least {CONTEXTS_PER_STATE} contexts."
    if noisy and scatter is not None:
        return (
            f"{points} Bars: what the nearest rational agent allows, whose reports scatter around "
            f"its belief as these do (SD {scatter.sd:.2f} over {scatter.across}): at equal report "
            "its belief is higher where the state is 1, so that bars of the two states differ with "
            f"nothing amiss. If it were this agent, {sure}; its fit is taken as known. {fewest}"
        )
    return (
        f"{points} Bars: what the {noun} alone allows; if it were exactly the belief acted on, "
        f"{sure}. {fewest} {_about_noise(scatter)}"
    )


def _about_noise(scatter: Scatter | None) -> str:
    """Say what the bars assume of the noise of reports, and whether it holds here."""
    assumed = "The bars take each report for the belief itself"
    if scatter is None or not scatter.misleads:
        return f"{assumed}: noise of reports alone would take points out of them."
    return (
        f"{assumed}, and these reports do scatter (reports of equal evidence, over "
        f"{scatter.across}, with SD {scatter.sd:.2f}): a point outside may be noise alone. The "
        "check rational_agent and the twins allow for it."
    )


def _links(
    found: StateShares, rows: pd.DataFrame, key: str, links: AnswerLinks | None
) -> tuple[dict[tuple[int, int], str], dict[str, str]]:
    """Link each bin and state to its contexts."""
    urls: dict[tuple[int, int], str] = {}
    names: dict[str, str] = {}
    if links is None:
        return urls, names
    states = rows["truth"].astype(int).to_numpy()
    for position in range(int(found.bin_of_row.max()) + 1):
        for state in (0, 1):
            inside = rows[(found.bin_of_row == position) & (states == state)]
            low, high = inside["belief"].min(), inside["belief"].max()
            title = f"State {state}, beliefs from {low:.3f} to {high:.3f}"
            anchor = f"{key}-states-{position + 1}-{state}"
            url = links.group(anchor, title, inside["context"])
            urls[position, state], names[url] = url, f"answers: {title}"
    return urls, names
