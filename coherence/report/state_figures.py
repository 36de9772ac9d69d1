"""The figures of the main test of one (task, model): choices by belief and realised state."""

from functools import partial

import pandas as pd

from coherence.report.answer_links import AnswerLinks
from coherence.report.planned_figure import Figure
from coherence.report.state_shares_plot import plot_state_shares
from coherence.report.unit import Unit
from coherence.report.wording import clean
from coherence.statistics.state_shares import CONTEXTS_PER_STATE, StateShares, state_shares
from coherence.table.schema import ACTION_PREFIX, action_columns

MOST_ACTIONS = 4
_LABEL = 40


def state_figures(
    unit: Unit, key: str, noun: str, links: AnswerLinks | None = None
) -> tuple[list[Figure], list[str]]:
    """Plan a figure of choices by state for each action, or say why there is none.

    Parameters
    ----------
    unit : Unit
        Its ``beliefs`` are drawn.
    key : str
        Prefix of all ids, unique in the page.
    noun : str
        What the belief is called.
    links : AnswerLinks, optional
        Where points lead; without it they are no links.

    Returns
    -------
    figures : list of Figure
        Of two actions one, as the other is one minus it; of many those that differ most.
    missing : list of str
        Sentences about those that are not there.
    """
    rows, why = _usable(unit.beliefs)
    if not why:
        policies = action_columns(rows)
        named = {name: name.removeprefix(ACTION_PREFIX) for name in policies}
        chosen = rows[policies].rename(columns=named) if policies else rows["action"].astype(str)
        found = state_shares(rows["belief"], chosen, rows["truth"], context=rows["context"])
        why = found.reason
    if why:
        return [], [f"No plot of choices by state: {why}."]
    table = found.table
    actions = _drawn(table)
    left_out = table["action"].nunique() - max(len(actions), 2)
    sentence = (
        f"Of {table['action'].nunique()} actions, the {MOST_ACTIONS} whose shares differ most from "
        "what beliefs alone would give are drawn by state."
    )
    urls, names = _links(found, rows, key, links)
    figures: list[Figure] = []
    for number, action in enumerate(actions, start=1):
        of_action = table[table["action"] == action]
        if urls:
            groups = zip(of_action["bin"], of_action["state"], strict=True)
            of_action = of_action.assign(url=[urls[group] for group in groups])
        draw = partial(plot_state_shares, of_action, noun=noun)
        title = f"Share of {clean(action, limit=_LABEL)}, by realised state"
        outside = _outside(of_action)
        caption = outside if figures else f"{_explained(table, noun)} {outside}"
        figures.append(Figure(f"{key}-states-{number}", title, caption, draw, 3.7, names))
    return figures, [sentence] if left_out > 0 else []


def is_lead(figure: Figure) -> bool:
    """Tell whether a figure is one of the main test."""
    return "-states-" in figure.key


def _usable(beliefs: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows with belief, action and state, or why there are none."""
    if "belief" not in beliefs:
        return beliefs, "no row has a readable belief that is one number"
    if "truth" not in beliefs:
        return beliefs, "no state is known that is 0 or 1"
    columns = action_columns(beliefs) or ["action"]
    if not set(columns) <= set(beliefs.columns):
        return beliefs, "there are no readable actions"
    acted = beliefs[columns].notna().any(axis=1)
    rows = beliefs[acted & beliefs["belief"].notna() & beliefs["truth"].notna()]
    return rows, "" if len(rows) else "no row has a readable belief and action and a known state"


def _drawn(table: pd.DataFrame) -> list[object]:
    """Choose the actions to draw, in the order of the table."""
    actions = list(dict.fromkeys(table["action"]))
    if len(actions) == 2:
        # The one whose share rises with the belief reads more easily.
        shares = table.pivot_table(index="bin", columns="action", values="share", sort=False)
        rise = shares.iloc[-1] - shares.iloc[0]
        return [max(actions, key=lambda action: float(rise[action]))]
    half = (table["band_high"] - table["band_low"]).clip(lower=1e-9)
    away = ((table["share"] - table["expected"]).abs() / half).groupby(table["action"]).max()
    kept = set(away.sort_values(ascending=False, kind="stable").index[:MOST_ACTIONS])
    return [action for action in actions if action in kept]


def _outside(shown: pd.DataFrame) -> str:
    """Say how many points beliefs alone do not allow."""
    n_outside = int(shown["outside"].sum())
    if not n_outside:
        return "No point lies outside its bar."
    verb = "lies outside its bar" if n_outside == 1 else "lie outside their bars"
    return f"{n_outside} of {len(shown)} points {verb} (ringed)."


def _explained(table: pd.DataFrame, noun: str) -> str:
    """Say how the figure is read; once for all actions."""
    of_all = "bins and actions" if table["action"].nunique() > 2 else "bins"
    return (
        "Points: share of the action where the state was 0 or 1 (1 is the one whose probability "
        f"the belief is), with 95% intervals over contexts. Bars: what the {noun} alone allows; if "
        f"it were exactly the belief acted on, all points of all {of_all} would lie in their bars "
        "in at least 95% of tables (simultaneous, contexts as units). In a bin, each state has at "
        f"least {CONTEXTS_PER_STATE} contexts."
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
