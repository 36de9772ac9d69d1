"""What the tables of revealed beliefs say, as text for a terminal."""

import math

import pandas as pd

from coherence.report.columns import aligned
from coherence.report.wording import clean

_METRICS = {
    "chebyshev": "Chebyshev distance from the truth",
    "l1": "L1 distance from the truth",
    "symmetric_kl": "Symmetric KL from the truth, nats",
}
_ROOM = 48  # for the names of all sources, where there are several
_SCATTER = 0.03  # from here on the size of the checks was seen to suffer; see docs/revealed.md
_LITTLE = 0.5  # of the probability: below it a model would rather say something else


def render_distances(table: pd.DataFrame) -> str:
    """Return a table per metric: a row for each group, the sources side by side.

    Parameters
    ----------
    table : DataFrame
        From `coherence.batteries.revealed.tables.comparison_table`.

    Returns
    -------
    str
        Lines.
    """
    sources = [name.removesuffix(" sd") for name in table.columns if name.endswith(" sd")]
    blocks = []
    for metric, title in _METRICS.items():
        rows = [
            [
                "",
                "settings",
                *(cell for source in sources for cell in (_name(source, len(sources)), "sd")),
            ]
        ]
        for _, row in table[table["metric"] == metric].iterrows():
            cells = [_number(row[name]) for source in sources for name in (source, f"{source} sd")]
            rows.append(
                [
                    clean(f"{row['scenario']}: {row['group']}", limit=56),
                    str(row["n_settings"]),
                    *cells,
                ]
            )
        blocks.append("\n".join([title, *aligned(rows, right=range(1, len(rows[0])))]))
    return "\n\n".join([*blocks, "Means over settings; sd: standard deviation over wordings."])


def render_stated(errors: pd.DataFrame) -> str:
    """Return a table of stated answers: a row for each group, the sources side by side.

    Parameters
    ----------
    errors : DataFrame
        From `coherence.batteries.revealed.tables.score_stated`.

    Returns
    -------
    str
        Lines; those after the table warn of sources whose answers were hardly ever one of the
        letters.
    """
    sources = list(dict.fromkeys(errors["source"]))
    rows = [
        [
            "",
            "settings",
            *(cell for source in sources for cell in (_name(source, len(sources)), "mass")),
        ]
    ]
    for (scenario, group), own in errors.groupby(["scenario", "group"], sort=False):
        means = own.groupby("source")[["stated_error", "answer_mass"]].mean()
        means = means.reindex(sources)
        cells = [
            cell
            for error, mass in means.itertuples(index=False)
            for cell in (_number(error), "-" if math.isnan(mass) else f"{mass:.2g}")
        ]
        rows.append(
            [clean(f"{scenario}: {group}", limit=56), str(own["setting"].nunique()), *cells]
        )
    lines = [
        "Stated answers: probability of a wrong one out of four",
        *aligned(rows, right=range(1, len(rows[0]))),
    ]
    lines.append(
        "Knowing nothing is wrong with .75; mass: probability that the answer is a letter at all."
    )
    for source in sources:
        own = errors[errors["source"] == source]
        if own["answer_mass"].median() < _LITTLE:
            lines.append(
                f"{clean(source, limit=40)}: the probability that a stated answer is a letter at all is {own['answer_mass'].median():.2g} (median). "
                "The errors are shares of that little, and no belief."
            )
    return "\n".join(lines)


def render_bets(bets: pd.DataFrame) -> str:
    """Return a line on the bets of every source.

    Parameters
    ----------
    bets : DataFrame
        From `coherence.batteries.revealed.tables.score_bets`.

    Returns
    -------
    str
        Lines.
    """
    lines = []
    for source, own in bets.groupby("source", sort=False):
        known = own.dropna(subset="share")
        line = (
            f"{clean(str(source), limit=40)}: takes {known['share'].mean():.0%} of {len(own)} bets at even odds"
            if len(known)
            else ""
        )
        line = line or f"{clean(str(source), limit=40)}: none of {len(own)} bets could be read"
        if len(known):
            line += (
                f", and loses {known['loss'].mean():.2f} points a bet against who knows the truth"
            )
        if 0 < len(known) < len(own):
            line += f"; {len(own) - len(known)} could not be read"
        lines.append(f"{line}.")
        if own["answer_mass"].median() < _LITTLE:
            median = own["answer_mass"].median()
            lines.append(
                f"    The probability that its answer to a bet is a letter at all is {median:.2g} (median): hardly its decisions."
            )
    return "\n".join(lines)


def render_notes(scores: pd.DataFrame, influences: pd.DataFrame, orders: pd.DataFrame) -> str:
    """Return in a sentence each what is in the other tables, for every source.

    Parameters
    ----------
    scores, influences, orders : DataFrame
        From `coherence.batteries.revealed.tables`: `score_beliefs`, `previous_influences`,
        `order_preferences`.

    Returns
    -------
    str
        Lines.
    """
    lines = []
    for source in dict.fromkeys(scores["source"]):
        own = scores[scores["source"] == source]
        parts = [
            f"probability on the outcomes {own['answer_mass'].median():.2g} (median)",
            f"leaked to impossible ones {own['leaked_mass'].mean():.2g}",
        ]
        die = own[own["group"] == "1 die, single"]
        if len(die) and die["first_excess_beginning"].notna().any():
            exact, beginning = die["first_excess"].mean(), die["first_excess_beginning"].mean()
            parts.append(
                f"face 1 of a die {exact:+.2f} from the truth ({beginning:+.2f} if 10 to 12 counted as 1)"
            )
        for label, table, columns in (
            ("an earlier result", influences, ("distance", "pull")),
            ("the order of options", orders, ("position", "label")),
        ):
            mine = table[table["source"] == source]
            if len(mine):
                parts.append(
                    f"{label}: "
                    + ", ".join(f"{column} {mine[column].mean():+.2f}" for column in columns)
                )
        lines.append(f"{clean(source, limit=40)}: {'; '.join(parts)}")
        if own["answer_mass"].median() < _LITTLE:
            lines.append(
                "    Most texts would rather go on in another way: what is shown are shares of the little that falls on the outcomes."
            )
    return "\n".join(lines)


def render_cautions(runs: pd.DataFrame) -> str:
    """Return what to keep in mind with the verdict on a runs table of revealed beliefs, empty if nothing.

    Parameters
    ----------
    runs : DataFrame
        With `p` in several prompts; the prompt of the rows with an action is taken as exact by the
        checks of belief against action.

    Returns
    -------
    str
        A line per task and model in which the wordings scatter more than a coherent believer could
        get away with.
    """
    lines = []
    plain = runs[runs["z"].isna()].drop_duplicates(["task", "model", "context", "prompt"])
    for (task, model), own in plain.groupby(["task", "model"], sort=False):
        spread = math.sqrt(own.groupby("context")["p"].var(ddof=1).mean())
        if spread > _SCATTER:
            lines.append(
                f"{clean(str(task), limit=20)}, {clean(str(model), limit=40)}: wordings move the belief by {spread:.2f} (standard deviation). "
                "residual_covariance, cmi and predictive_gain take it as exact: with such scatter even a coherent believer may fail them too often."
            )
    return "\n".join(lines)


def _name(source: str, n_sources: int) -> str:
    return clean(source, limit=max(12, _ROOM // n_sources))


def _number(value: float) -> str:
    return "-" if math.isnan(value) else "inf" if math.isinf(value) else f"{value:.2f}"
