"""The figures of the main test of one (task, model): choices by belief and realised state."""

from collections.abc import Sequence
from functools import partial

import pandas as pd

from coherence.plots.scales import WHOLE_FROM, Span, shared_spans
from coherence.plots.states import (
    judged,
    plot_state_panels,
    rising_action,
    shares_by_state,
    shown_shares,
)
from coherence.rational.noisy_shares import NoisyShares, with_noise
from coherence.report.answer_links import AnswerLinks
from coherence.report.planned_figure import Figure
from coherence.report.unit import Unit
from coherence.report.wording import format_numbers
from coherence.result import Outcome
from coherence.statistics.scatter import Scatter
from coherence.statistics.state_shares import StateShares

MOST_ACTIONS = 4
TITLE = "Choices by belief and realised state"
COVARIANCE, RATIONAL = "residual_covariance", "rational_agent"
"""The tests of what the bars allow: of reports as they are, and with the noise around them."""
POINT = 0.05  # height of a point and its edge over that of the axis


def state_figures(
    unit: Unit, key: str, noun: str, links: AnswerLinks | None = None
) -> tuple[list[Figure], list[str]]:
    """Plan the figure of choices by state, a panel an action, or say why there is none."""
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
    shown = table[table["action"].isin(actions)]
    scales = shared_spans([shown_shares(table[table["action"] == action]) for action in actions])
    states = unit.state_names
    draw = partial(plot_state_panels, found, actions, scales, noun=noun, states=states, urls=urls)
    apart = "Panels differ in their scale." if len(set(scales)) > 1 else ""
    caption = (
        _explained(table, noun, unit.scatter, noisy=noisy),
        _hidden_bars(shown, scales),
        _outside(shown, _rejecting(unit, table, noisy=noisy)),
        apart,
    )
    text, width = " ".join(filter(None, caption)), {1: 5.4, 2: 8.0}.get(len(actions), 11.0)
    return [Figure(f"{key}-states", TITLE, text, draw, 3.5, names, width)], (
        [sentence] if left_out > 0 else []
    )


def is_lead(figure: Figure) -> bool:
    """Tell whether a figure is that of the main test."""
    return figure.key.endswith("-states")


def _drawn(table: pd.DataFrame) -> list[object]:
    """Choose the actions to draw, the one that rises most with the belief first."""
    first = rising_action(table)
    actions = [first, *(action for action in dict.fromkeys(table["action"]) if action != first)]
    if len(actions) == 2:
        return [first]  # it reads more easily than one that falls
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


def _hidden_bars(shown: pd.DataFrame, scales: Sequence[Span]) -> str:
    """Say where bars are so low that the points hide them, as of choices that hardly vary."""
    tallest = float((shown["band_high"] - shown["band_low"]).max())
    span = max(high - low for low, high in scales)
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
    """Say how the figure is read."""
    points = "Points: share of the action in a bin of beliefs and a state, with 95% intervals."
    lines = "thin lines: what it gives on average."
    sure = "all of them at once in 95% of tables"
    if noisy and scatter is not None:
        return (
            f"{points} Pale bars: what the nearest rational agent allows, whose reports scatter "
            f"around its belief as these do (SD {scatter.sd:.2f} over {scatter.across}), {sure}; "
            "at equal report its belief is higher where the state is 1."
        )
    return f"{points} Pale bars: what the {noun} alone allows, {sure}; {lines} {_noise(scatter)}"


def _noise(scatter: Scatter | None) -> str:
    """Say what the bars assume of the noise of reports, and whether it holds here."""
    if scatter is None or not scatter.misleads:
        return "The bars take each report for the belief itself."
    return (
        "The bars take each report for the belief itself, and these reports do scatter (SD "
        f"{scatter.sd:.2f} over {scatter.across}): a point outside may be noise alone, for which "
        "rational_agent and the twins allow."
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
