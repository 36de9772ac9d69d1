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
_LITTLE = 0.5  # of the probability: below it a model would rather say something else


def render_distances(table: pd.DataFrame) -> str:
    """Return a table per metric: a row for each group, the sources side by side."""
    sources = [name.removesuffix(" sd") for name in table.columns if name.endswith(" sd")]
    columns = [name for source in sources for name in (source, f"{source} sd")]
    blocks = []
    for metric, title in _METRICS.items():
        rows = [_heading(sources, "sd")]
        for _, row in table[table["metric"] == metric].iterrows():
            group = clean(f"{row['scenario']}: {row['group']}", limit=56)
            rows.append([group, str(row["n_settings"]), *(_number(row[name]) for name in columns)])
        blocks.append("\n".join([title, *aligned(rows, right=range(1, len(rows[0])))]))
    return "\n\n".join([*blocks, "Means over settings; sd: standard deviation over wordings."])


def render_stated(errors: pd.DataFrame) -> str:
    """Return a table of stated answers: a row for each group, the sources side by side."""
    sources = list(dict.fromkeys(errors["source"]))
    rows = [_heading(sources, "mass")]
    for (scenario, group), answers in errors.groupby(["scenario", "group"], sort=False):
        cells = []
        by_source = answers.groupby("source")[["stated_error", "answer_mass"]].mean()
        for error, mass in by_source.reindex(sources).itertuples(index=False):
            cells += [_number(error), "-" if math.isnan(mass) else f"{mass:.2g}"]
        name = clean(f"{scenario}: {group}", limit=56)
        rows.append([name, str(answers["setting"].nunique()), *cells])
    lines = [
        "Stated answers: probability of a wrong one out of four",
        *aligned(rows, right=range(1, len(rows[0]))),
        # One option of four is right, so that a guess is wrong in three cases of four.
        "Knowing nothing is wrong with .75; mass: probability that the answer is a letter at all.",
    ]
    for source, answers in errors.groupby("source", sort=False):
        median = answers["answer_mass"].median()
        if median < _LITTLE:
            lines.append(
                f"{clean(source, limit=40)}: the probability that a stated answer is a letter "
                f"at all is {median:.2g} (median). "
                "The errors are shares of that little, and no belief."
            )
    return "\n".join(lines)


def render_bets(bets: pd.DataFrame) -> str:
    """Return a line on the bets of every source."""
    lines = []
    for source, of_source in bets.groupby("source", sort=False):
        known = of_source.dropna(subset="share")
        name, n = clean(str(source), limit=40), len(of_source)
        line = f"{name}: none of {n} bets could be read"
        if len(known):
            line = (
                f"{name}: takes {known['share'].mean():.0%} of {n} bets at even odds, and loses "
                f"{known['loss'].mean():.2f} points a bet against who knows the truth"
            )
            if len(known) < n:
                line += f"; {n - len(known)} could not be read"
        lines.append(f"{line}.")
        median = of_source["answer_mass"].median()
        if median < _LITTLE:
            lines.append(
                "    The probability that its answer to a bet is a letter at all is "
                f"{median:.2g} (median): hardly its decisions."
            )
    return "\n".join(lines)


def render_notes(scores: pd.DataFrame, influences: pd.DataFrame, orders: pd.DataFrame) -> str:
    """Return in a sentence each what is in the other tables, for every source."""
    lines = []
    for source, beliefs in scores.groupby("source", sort=False):
        median = beliefs["answer_mass"].median()
        parts = [
            f"probability on the outcomes {median:.2g} (median)",
            f"leaked to impossible ones {beliefs['leaked_mass'].mean():.2g}",
        ]
        # "1" is how "10" to "12" begin: what it gets besides shows whether a love of face 1 is only
        # an artefact of reading beginnings.
        die = beliefs[beliefs["group"] == "1 die, single"]
        exact, beginning = die["first_excess"].mean(), die["first_excess_beginning"].mean()
        if not math.isnan(beginning):
            parts.append(
                f"face 1 of a die {exact:+.2f} from the truth "
                f"({beginning:+.2f} if 10 to 12 counted as 1)"
            )
        for label, table, columns in (
            ("an earlier result", influences, ("distance", "pull")),
            ("the order of options", orders, ("position", "label")),
        ):
            rows = table[table["source"] == source]
            if len(rows):
                means = ", ".join(f"{column} {rows[column].mean():+.2f}" for column in columns)
                parts.append(f"{label}: {means}")
        lines.append(f"{clean(source, limit=40)}: {'; '.join(parts)}")
        if median < _LITTLE:
            lines.append(
                "    Most texts would rather go on in another way: "
                "what is shown are shares of the little that falls on the outcomes."
            )
    return "\n".join(lines)


def _heading(sources: list[str], beside: str) -> list[str]:
    """Return the heading of a table with two columns per source."""
    limit = max(12, _ROOM // len(sources))
    cells = [cell for source in sources for cell in (clean(source, limit=limit), beside)]
    return ["", "settings", *cells]


def _number(value: float) -> str:
    return "-" if math.isnan(value) else "inf" if math.isinf(value) else f"{value:.2f}"
