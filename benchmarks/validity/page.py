"""Make ``docs/validity.md`` from the tables of this folder: every figure on it is read from them.

    python benchmarks/validity/page.py

A new table needs a line of `PROGRAMS`, a line of `overview`, and a section where there is more to
say. Sentences stand here, figures are filled in.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from one_null import N_TASKS
from scipy import stats

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "validity.md"
LINK = "../benchmarks/validity"


@dataclass(frozen=True)
class Program:
    """A simulation: its options and tables."""

    name: str
    options: str
    results: tuple[str, ...]
    seed: int = 1  # of tables that do not say it


PROGRAMS = (
    Program("simulate", "--datasets 400 --few 125", ("results",)),
    Program("sufficiency", "--tables 100", ("sufficiency",)),
    Program("exact_state", "--tables 100", ("exact_state",)),
    Program("exact_state", "--tables 100 --nulls", ("exact_nulls",)),
    Program("verdicts", "--tables 200", ("verdicts", "sentences")),
    Program("one_null", "--tables 100", ("one_null",)),
    Program("one_null", "--studies 60", ("one_null_pairs",)),
    Program("gaps", "--tables 1000", ("gaps",)),
    Program("scores", "--tables 200", ("scores",)),
    Program("confidence", "--tables 60", ("confidence",)),
    Program("groups", "--tables 400", ("groups",)),
    Program("persons", "--tables 400", ("persons",)),
    Program("margins", "--tables 100", ("margins",)),
    Program("matching", "--tables 200", ("matching",)),
    Program("stakes", "--tables 100", ("stakes",)),
    Program("threshold", "--tables 100", ("threshold",)),
    Program("comparison", "--studies 40", ("comparison",)),
    Program("pooling", "--studies 400", ("pooling",)),
    Program("rivals", "--tables 200", ("rivals",)),
    Program("mixing", "--sessions 1000", ("mixing_intervals", "mixing_tests")),
)


STAKES_IGNORED = ("ignores, from .5", "ignores, soft", "coin", "acts in 95%")
"""Agents of the table of stakes that follow none."""

SHARED_PAGES = {"predictive_gain": "cmi", "prompt_consistency": "iterated_expectation"}
"""Check -> the other one whose page it shares."""
PRICE = ("100 x 3", "noise .05, three reports", "noise .1", "five words", "five words, 200 cases")
"""Agents that act on more, of the table of one null, which the page shows."""


def read(name: str) -> pd.DataFrame:
    """Read a table of this folder."""
    return pd.read_csv(HERE / f"{name}.csv")


def share(value: float) -> str:
    """Write a share with two digits, and 0 and 1 only where they are exact."""
    if value == 0:
        return "0"
    text = f"{value:.3f}" if 0.994 < value < 1 or value < 0.005 else f"{value:.2f}"
    return text.removeprefix("0")


def span(values: pd.Series) -> str:
    """Write the lowest and the highest of shares."""
    low, high = share(values.min()), share(values.max())
    return low if low == high else f"{low} to {high}"


def grid(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Lay out a Markdown table."""
    header = list(header)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def code(check: str) -> str:
    """Write the name of a check as code; of a part of one as it is."""
    return check if " " in check else f"`{check}`"


def extreme(table: pd.DataFrame, column: str, label: Callable, high: bool = True) -> str:
    """Write the highest or lowest share of a table, and the cell that has it."""
    table = table.dropna(subset=column)
    row = table.loc[table[column].idxmax() if high else table[column].idxmin()]
    if table[column].nunique() == 1:
        return share(row[column])
    return f"{share(row[column])} ({label(row)})"


def cells(table: pd.DataFrame, count: str) -> str:
    """Write how many cells a table has, of how many data sets."""
    numbers = sorted(set(table[count]))
    many = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    return f"{len(table)} x {many}"


def line(
    link: str,
    null: tuple[pd.DataFrame, str, str],
    held: tuple[pd.DataFrame, str],
    label: str,
    limit: str = "",
) -> tuple[str, ...]:
    """Lay out a procedure: its cells, where it rejects most, and where it covers least."""

    def cell(row: pd.Series) -> str:
        return label.format_map(row)

    table, count, rejected = null
    size = extreme(table, rejected, cell)
    return link, cells(table, count), size, extreme(*held, cell, high=False), limit


# Designs that break an assumption of the test, named as such on the page.
REFUSALS = "refusals by action and state"
FAMILIES = {
    "residual covariance": ("residual covariance", "residual covariance of policies"),
    "cmi": ("cmi", "cmi of policies", "cmi given features"),
    "predictive_gain": (
        "predictive_gain",
        "predictive_gain of policies",
        "predictive_gain given features",
    ),
    "monotone_choice": (
        "monotone yes/no",
        "monotone yes/defer",
        "monotone defer/no",
        "monotone yes/no of policies",
    ),
    "iterated_expectation": (
        "iterated_expectation",
        "gap beyond noise and rounding",
        "gap beyond rounding, asked once",
    ),
    "evidence_leak": ("evidence_leak", "evidence_leak, belief"),
    "prompt_consistency": ("prompt_consistency",),
    "calibration": (
        "calibration:rmse",
        "calibration:brier",
        "calibration:calibration_error",
        "calibration:calibration_error_exact",
        "calibration_error at one belief",
    ),
}
GAPS = (
    "mean absolute gap",
    "median absolute gap",
    "median of |gap| / belief",
    "root-mean-square gap",
    "root-mean-square gap, noise removed",
    "sum of P(z|x) minus 1",
    "mean signed gap",
    "mean absolute gap, skewed",
    "median absolute gap, skewed",
    "root-mean-square gap, skewed",
)


def results(kind: str, checks: Iterable[str]) -> pd.DataFrame:
    """Return the lines of these checks of the large table, with shares."""
    table = read("results")
    table = table[(table["kind"] == kind) & table["check"].isin(list(checks))]
    return table.assign(share=table["count"] / table["datasets"])


def family(name: str) -> tuple[str, str, str]:
    """Return the cells of a family of the large table: data sets, worst size, worst coverage."""
    checks = [*FAMILIES[name], *(f"{check}, three states" for check in FAMILIES[name][:1])]
    null = results("size", checks)
    null = null[~null["design"].str.startswith(REFUSALS)]
    covering = [*checks, *GAPS] if name == "iterated_expectation" else checks
    held = results("coverage", covering)

    def where(row: pd.Series) -> str:
        design = row["design"].removeprefix("policies, ").removeprefix("as of a model: ")
        quantity = row["check"].removeprefix(f"{name}:")
        named = "" if quantity == name else f"{quantity.removeprefix(f'{name} ')}, "
        return f"{named}{design}".replace("|", "\\|")

    size = f"{extreme(null, 'share', where)}" if len(null) else "no test"
    coverage = extreme(held, "share", where, high=False) if len(held) else "no interval"
    return cells(null if len(null) else held, "datasets"), size, coverage


def overview() -> str:
    """Lay out the first tables: a line a check, and a line a procedure."""
    rows: list[tuple[str, ...]] = []
    known = read("sufficiency")
    null = known[known["weight"] == 0]

    def studied(row: pd.Series) -> str:
        design = row["design"].replace("inverted", "beliefs in the other state")
        return f"{design}, {row['cases']} cases"

    rows.append(
        (
            "[`sufficiency`](#sufficiency)",
            cells(null, "tables"),
            extreme(null, "together", studied),
            extreme(known, "points_held", studied, high=False),
            "one noisy report a case",
        )
    )
    limits = {
        "residual covariance": "reports that vary; groups not named; refusals",
        "cmi": "the same; `condition_on` with jumps",
        "predictive_gain": "reports that vary; weak against small effects",
        "monotone_choice": "groups not named",
        "iterated_expectation": "[few cases, skewed gaps](#gaps-that-are-not-symmetric)",
        "evidence_leak": "recorded truths",
        "prompt_consistency": "ten groups: its interval covers less",
        "calibration": "beliefs far off; unequal numbers of answers",
    }
    for name, limit in limits.items():
        n, size, coverage = family(name)
        of_sufficiency = f"{name} of [`sufficiency`](#sufficiency)"
        linked = (
            of_sufficiency
            if " " in name
            else f"[`{name}`](checks/{SHARED_PAGES.get(name, name)}.md)"
        )
        rows.append((linked, n, size, coverage, limit))
        if name == "residual covariance":
            exact = read("exact_nulls")
            exact = exact.assign(size=exact["at .05"] / exact["tables"])
            exact["held"] = exact["held 0"] / exact["intervals"].where(exact["intervals"] > 0)

            def sized(row: pd.Series) -> str:
                return f"{row['null']}, {row['contexts']} cases"

            rows.append(
                (
                    "[with the exact posterior](#the-exact-posterior)",
                    cells(exact, "tables"),
                    extreme(exact, "size", sized),
                    extreme(exact, "held", sized, high=False),
                    "computed policies whose calibration turns",
                )
            )
    shapes = read("one_null")
    shapes = shapes[shapes["agent"] == "coherent"]
    shapes = shapes.assign(size=shapes["accused"] / shapes["n_tables"])
    rows.append(
        (
            "[reports of every shape](#one-null), accused",
            cells(shapes, "n_tables"),
            extreme(shapes, "size", lambda row: f"{row['design']}, {row['n_cases']} cases"),
            "as `sufficiency`",
            "noise that all reports of a case share",
        )
    )
    scores = read("scores")
    rows.append(
        line(
            "[`scores`](checks/calibration.md)",
            (scores[scores["power"] == 1], "tables", "rejected"),
            (scores, "brier_held"),
            "{forecasts}, {cases} cases",
            "not rejecting is not calibration",
        )
    )
    match = read("matching")
    match = match[match["share_given"] > 0]
    null = match[match["acted_on"].isin(["what it says", "what it says + .1"])]

    def matched(row: pd.Series) -> str:
        return f"{row['acted_on']}, {row['flaw']}".removesuffix(", none")

    rows.append(
        (
            "[`matching`](#matching-probabilities)",
            cells(null, "n_tables"),
            extreme(null, "share_excludes_0", matched),
            extreme(match, "share_covered", matched, high=False),
            "chances that are distorted; one report",
        )
    )
    stakes = read("stakes")
    rows.append(
        line(
            "[`stakes`](#stated-stakes)",
            (stakes[stakes["coherent"]], "n_tables", "ignores"),
            (stakes, "loss_covered"),
            "{agent}, {design}",
            "threefold losses, no free question; who acts on the report of the row",
        )
    )
    checks = len(rows)
    rows += [
        (
            f"{name} of [`sufficiency`](#sufficiency)",
            cells(known, "tables"),
            "no test",
            extreme(known, f"{column}_held", studied, high=False),
            limit,
        )
        for name, column, limit in (
            ("hidden share", "hidden_share", "one noisy report a case"),
            ("plain average", "plain_average", "rare states"),
        )
    ]
    judgements = read("verdicts")
    judgements = judgements[judgements["coherent"]]

    def accused(row: pd.Series) -> str:
        return f"{row['agent']}, {row['state']} state, {row['cases']} cases"

    rows.append(
        (
            "[verdict](#verdicts) `acts_on_more`",
            cells(judgements, "tables"),
            extreme(judgements, "accused", accused),
            "as `sufficiency`",
            "tables that reject, where power is low: intervals cover less",
        )
    )
    claims = read("margins")
    claims = claims[claims["difference"] > 0]
    rows.append(
        (
            "[`--margin .1`](#margins), true difference .1",
            cells(claims, "n_tables"),
            f"claimed {extreme(claims, 'claimed', lambda row: row['design'])}",
            "as `sufficiency`",
            "effects of opposite signs average to one within it",
        )
    )
    panels = read("persons")
    panels = panels[(panels["reading"] == "person") & (panels["n_tested"] > 0)]
    tasks, pairs = read("pooling"), read("comparison").dropna(subset="rejected")
    rows += [
        line(
            "[persons](#persons-who-judge-the-same-cases)",
            (panels[panels["population"] != "knows"], "n_tables", "rejected"),
            (panels, "covered"),
            "{n_cases} cases x {n_persons}",
            "below five cases of either truth nothing is tested",
        ),
        line(
            "[means over tasks](#means-over-tasks)",
            (tasks[tasks["mean"] == 0], "n_studies", "rejected"),
            (tasks, "covered"),
            "`{effect}`, {n_tasks} tasks",
        ),
        line(
            "[comparisons](#comparing-models)",
            (pairs, "n_studies", "rejected"),
            (pairs, "covered"),
            "`{effect}`, {design}",
        ),
    ]
    flips, scored = read("mixing_tests"), read("mixing_intervals")
    flips = flips[flips["correlation"] == 0]
    flips = flips.assign(size=flips["rejected"] / flips["sessions"])
    scored = scored[~scored["quantity"].str.contains(":")]
    scored = scored.assign(held=scored["covered"] / scored["sessions"])

    def mixed(row: pd.Series) -> str:
        return f"{row['agent']}, {row['draws']} draws"

    rows.append(
        (
            "[mixing](batteries.md#mixing)",
            cells(flips, "sessions"),
            extreme(flips, "size", lambda row: f"{row['test']}, {row['draws']} draws"),
            extreme(scored, "held", mixed, high=False),
            "answers that depend on each other",
        )
    )
    header = ["cells x tables", "worst rejection at .05", "worst 95% interval"]
    header += ["where it does not hold"]
    return (
        grid(["check", *header], rows[:checks])
        + "\n\nParts of them, and what is made of them:\n\n"
        + grid(["procedure", *header], rows[checks:])
    )


def above() -> str:
    """Name the cells of the large table above the exact binomial bound, without refusals."""
    found = []
    for kind, level in (("size", 0.05), ("size at .01", 0.01)):
        table = read("results")
        table = table[(table["kind"] == kind) & ~table["design"].str.startswith(REFUSALS)]
        bound = stats.binom.ppf(0.995, table["datasets"], level)
        for row in table[table["count"] > bound].to_dict("records"):
            of = share(row["count"] / row["datasets"])
            found.append(f"`{row['check']}` at {share(level)}: {of} ({row['design']})")
    return "; ".join(found)


def of_results(check: str, design: str, kind: str = "size") -> str:
    """Return one share of the large table."""
    table = results(kind, [check])
    return share(table.set_index("design").loc[design, "share"])


def what_breaks() -> str:
    """Lay out what makes tests reject coherent agents, with figures where a table has them."""
    verdicts = read("verdicts").set_index(["agent", "state", "cases"]).sort_index()
    noisy = verdicts.loc[("noisy, one report", "exact"), "acts_on_more_or_noisy"]
    groups = read("groups")
    named, unnamed = groups[groups["named"]], groups[~groups["named"]]
    gaps = read("gaps")
    few = gaps[(gaps["units"] <= 20) & gaps["gaps"].isin(["lognormal", "a tenth large"])]
    skewed = few[few["gaps"] == "lognormal"]
    large = few[few["gaps"] == "a tenth large"]
    refused = {n: f"{REFUSALS}: {n}" for n in ("0.1", "0.3")}
    rows = [
        (
            "one report a case, and it varies around the belief acted on",
            f"`sufficiency` rejects {share(noisy.loc[60])} (60 cases) and "
            f"{share(noisy.loc[200])} (200) of tables with the exact posterior: "
            "`acts_on_more_or_noisy`",
        ),
        (
            "several reports that vary, also between prompt variants",
            "other tests that use the state reject, but for `sufficiency`",
        ),
        (
            "rows share evidence, or cases a template, that no `context` or `group` names",
            f"up to {share(unnamed['rejected'].max())} rejected, named "
            f"{share(named['rejected'].max())} ([below](#shared-templates))",
        ),
        (
            "answers are refused by action and state",
            "one in ten: residual covariance "
            f"{of_results('residual covariance', refused['0.1'])}, `cmi` "
            f"{of_results('cmi', refused['0.1'])}; three in ten: "
            f"{of_results('residual covariance', refused['0.3'])}, "
            f"{of_results('cmi', refused['0.3'])}",
        ),
        (
            "a computed policy follows a calibration that rises and falls; groups differ in the "
            "slopes of choice and calibration; cases of equal belief and posterior share a taste",
            "`sufficiency` against the exact posterior rejects",
        ),
        (
            "state and choice jump at one value of a feature of `condition_on`",
            "`cmi` rejects in most tables; not where both change smoothly",
        ),
        (
            "utilities follow the miscalibration of each domain",
            "looks like knowledge that is not stated; name the domain in `condition_on` of `cmi`",
        ),
        (
            "6 to 20 cases, skewed gaps",
            f"`iterated_expectation` rejects {span(skewed['test_0'])}, "
            f"{span(large['test_0'])} where a tenth has all large gaps",
        ),
        (
            "reports in steps",
            "of mixed steps the gap beyond rounding keeps some; without noise "
            "`prompt_consistency` takes rounding for a difference",
        ),
        (
            "cases have 1, 2 or 20 answers",
            "the calibration error is that of this mix of answers",
        ),
    ]
    return grid(["where", "what happens to coherent agents"], rows)


def power() -> str:
    """Lay out how often hidden shifts are found, 200 contexts x 5."""
    rows = []
    signals = ("hidden signal 0.1", "hidden signal 0.2", "hidden signal 0.4")
    for check in ("residual covariance", "cmi", "predictive_gain"):
        rows.append(
            (
                code(check),
                *(of_results(check, signal, "power") for signal in signals),
            )
        )
    scores = read("scores").set_index(["forecasts", "power", "cases"])["rejected"].sort_index()
    odd = scores.loc[("continuous", 2.0)]
    leaks = (
        of_results("evidence_leak", f"leak of {leak} to actions, {n} x 5", "power")
        for leak, n in ((0.1, 200), (0.2, 100), (0.4, 50))
    )
    table = grid(["hidden shift of", ".1", ".2", ".4"], rows)
    return (
        f"Share of tables, 200 cases x 5:\n\n{table}\n\n`evidence_leak` finds leaks of .1, .2 "
        f"and .4 to actions in {', '.join(leaks)} (200, 100 and 50 cases x 5), `scores` doubled "
        f"log odds in {share(odd.loc[60])} of 60 and {share(odd.loc[300])} of 300 forecasts."
    )


def sufficiency() -> str:
    """Tell what intervals of the primary test hold."""
    table = read("sufficiency")
    known = table[table["weight"] > 0]
    worst = known.loc[known["points_held"].idxmin()]
    continuous = known[(known["design"] == "continuous") & (known["cases"] == 200)]
    direction = continuous.set_index(["weight", "state"])["direction"]
    turn = known[(known["design"] == "turn") & (known["cases"] == 200)].set_index("state")
    return (
        f"Where few cases leave choices open ({worst['design']}, {worst['cases']}), intervals of "
        "points end too low. Choices that follow a fifth of what the posterior adds are found in "
        f"{share(direction[0.2, 'exact'])} of tables of 200 cases with the posterior, "
        f"{share(direction[0.2, 'theta'])} with the truth; those that turn with the belief in "
        f"{share(turn.loc['exact', 'turn'].max())} and {share(turn.loc['theta', 'turn'].max())}."
    )


def exact_posterior() -> str:
    """Lay out how many fewer contexts the exact posterior takes."""
    table = read("exact_state")
    table = table[(table["weight"] > 0.2) & table["contexts"].isin([100, 200])]
    rows = [
        (
            f"{study}, {n}",
            *(share(part.set_index("state")["share"].get(s)) for s in ("exact", "theta")),
        )
        for (study, n), part in table.groupby(["study", "contexts"], sort=False)
        if part["state"].nunique() == 2
    ]
    return grid(["power of the residual covariance, cases", "exact posterior", "truth"], rows)


def verdicts() -> str:
    """Lay out how often verdicts accuse, and whether their sentences are true."""
    table = read("verdicts")
    rows = []
    n_coherent = table[table["coherent"]]["agent"].nunique()
    names = table["agent"].where(~table["coherent"], f"{n_coherent} coherent agents")
    for agent, part in table.groupby(names, sort=False):
        by = part.groupby(["state", "cases"])["accused"]
        figures = (
            ", ".join(span(by.get_group((state, n))) for n in (60, 200))
            for state in ("exact", "realised")
        )
        rows.append((agent, *figures))
    claims = read("sentences").groupby("claim")[["printed", "true"]].sum()
    true = claims["true"] / claims["printed"]
    return (
        grid(["accused, at 60, 200 cases", "exact posterior", "truth"], rows)
        + f"\n\nOf {claims['printed'].sum():,} printed claims of {len(claims)} kinds, "
        f"{share(claims['true'].sum() / claims['printed'].sum())} are true, least often "
        f'"{true.idxmin()}" ({share(true.min())}).'
    )


def shared_templates() -> str:
    """Lay out what naming the groups does."""
    table = read("groups")
    rows = []
    for check, part in table.groupby("check", sort=False):
        named, unnamed = part[part["named"]], part[~part["named"]]
        figures = (
            span(each[column].dropna()) if each[column].notna().any() else "-"
            for column in ("rejected", "covered")
            for each in (unnamed, named)
        )
        rows.append((code(check), *figures))
    return "Of 10, 20 and 40 groups; below ten there are no intervals.\n\n" + grid(
        ["", "rejected, not named", "named", "interval holds, not named", "named"], rows
    )


def one_null() -> str:
    """Lay out what verdicts say, whatever reports look like, and what it costs."""
    table = read("one_null")
    columns = ("accused", "or_noisy", "explained", "rejected", "as_exact")

    def lines(part: pd.DataFrame) -> list[tuple[str, ...]]:
        return [
            (
                f"{row['design']}, {row['n_cases']} x {row['n_reports']}",
                *(share(row[name] / row["n_tables"]) for name in columns),
            )
            for row in part.to_dict("records")
        ]

    coherent, pairs = table[table["agent"] == "coherent"], read("one_null_pairs")
    header = ["reports", "accused", "or noisy", "noise explains", "rejected", "without allowance"]
    accused, n_tables = coherent[["accused", "n_tables"]].sum()
    one = pairs[pairs["pair"].str.startswith("one agent")]
    told = pairs[["told_a"]].sum().sum() + one["told_b"].sum()
    return (
        f"Of {n_tables:,} tables of {len(coherent)} coherent agents {share(accused / n_tables)} "
        f"are accused. `compare` tells two ways of reporting of one agent apart in "
        f"{one['differ'].sum()} of {one['n_studies'].sum()} studies; means over {N_TASKS} tasks of "
        f"coherent agents are told from 0 in {told} of "
        f"{pairs['n_studies'].sum() + one['n_studies'].sum()}.\n\n"
        "Agents that act on more are found less often where reports are "
        "noisy or few words:\n\n"
        + grid(header, lines(table[(table["agent"] == "leaky") & table["design"].isin(PRICE)]))
        + "\n\nNot to be seen are errors that all reports of a case share, and two beliefs in one "
        "report:\n\n" + grid(header, lines(table[table["agent"] == "misled"]))
    )


def persons() -> str:
    """Tell what naming persons does."""
    table = read("persons")
    named, groups = (
        table[(table["reading"] == reading) & (table["n_tested"] > 0)]
        for reading in ("person", "cells, group=person")
    )
    power = named[(named["population"] == "knows") & (named["n_cases"] >= 20)]["rejected"]
    null = groups[groups["population"] != "knows"]["rejected"]
    return (
        f"Where persons are named, power is {span(power)} from 20 cases. With persons as groups, "
        f"{span(null)} of true nulls are rejected, and intervals hold the effect in "
        f"{span(groups['covered'])}."
    )


def margins() -> str:
    """Lay out how many contexts a margin takes."""
    table = read("margins")
    rows = [
        (design, *(share(value) for value in part.sort_values("n_contexts")["claimed"]))
        for design, part in table[table["difference"] == 0].groupby("design", sort=False)
    ]
    sizes = sorted(set(table["n_contexts"]))
    header = ["claimed at a true difference of 0, of cases", *map(str, sizes)]
    return grid(header, rows)


def matching() -> str:
    """Tell what passes the gate of matching probabilities."""
    table = read("matching")
    passed = table.groupby("acted_on")["passed"].max()
    follow = table[table["acted_on"].isin(passed[passed > 0].index)]["passed"]
    return (
        f"Agents that follow a belief pass the gate in {span(follow)} of tables, those that do not "
        f"({', '.join(passed[passed == 0].index)}) in none."
    )


def stakes() -> str:
    """Tell how often agents that ignore their stakes are told so."""
    table = read("stakes")
    ignoring = table[table["agent"].isin(STAKES_IGNORED)]
    rows = [
        (design, span(part["ignores"]), share(table.loc[coherent, "ignores"].max()))
        for design, part in ignoring.groupby("design", sort=False)
        for coherent in [table["coherent"] & (table["design"] == design)]
    ]
    header = ["told to ignore its stakes", f"{len(STAKES_IGNORED)} agents that do", "coherent"]
    return grid(header, rows)


def thresholds() -> str:
    """Tell how often a threshold is given, and is wrong."""
    table = read("threshold")
    worst = table.loc[table["wrong"].idxmax()]
    inside = table[~table["design"].str.contains("beliefs|do not move")]
    beyond = table[table["design"].str.contains("beliefs .05|beliefs .5 ")]
    return (
        f"Where beliefs lie on both sides, a number is given in {span(inside['number'])} of tables "
        f"of two actions and of three, its interval wrong in {span(inside['wrong'])}; where all "
        f"lie on one side, a bound in {span(beyond['bound'])}, false in {span(beyond['wrong'])}. "
        f"The worst: {worst['design']}, {worst['n_cases']} cases with {worst['n_reps']} report, "
        f"{share(worst['wrong'])}."
    )


def asymmetric() -> str:
    """Lay out skewed gaps."""
    table = read("gaps")
    table = table[~table["grouped"]]
    rows = [
        (
            gaps,
            span(part["test_0"]),
            span(part["flips_0"]),
            span(part["t_0"]),
            span(part["test_below"]),
        )
        for gaps, part in table.groupby("gaps", sort=False)
    ]
    header = ["true nulls rejected", "the test", "sign flips", "t", "power, far side"]
    sizes = f"{table['units'].min()} to {table['units'].max()}"
    return f"Of {sizes} cases.\n\n{grid(header, rows)}"


def others() -> str:
    """Lay out other tests on the same tables, with the exact posterior."""
    table = read("rivals")
    table = table[table["state"] == "exact"]
    null, effect = table[table["effect"] == 0], table[table["effect"] == 1]
    jumps = null["design"].str.contains("choice and calibration jump")
    turning = effect["design"].str.contains("turning")
    rows = [
        (
            test,
            *(
                span(part.loc[part["test"] == test, "rejected"])
                for part in (null[~jumps], null[jumps], effect[~turning], effect[turning])
            ),
        )
        for test in dict.fromkeys(table["test"])
    ]
    header = ["exact posterior", "true nulls", "choice and calibration jump"]
    header += ["power", "power, turning"]
    return (
        "Where choices and calibration jump at one belief, tests that take out a spline reject "
        "true nulls; `sufficiency` does not, and pays in power. Only it and PCM see a turn.\n\n"
        + grid(header, rows)
    )


def comparing() -> str:
    """Tell what paired differences of models do."""
    found = read("comparison")["any_false"].dropna()
    return (
        '<a id="means-over-tasks"></a>Figures above are of pairs of agents of one kind, before the '
        f"correction; after Holm's any pair is told apart in {span(found)} of studies. Means over "
        "tasks weigh tasks by cases."
    )


def programs() -> str:
    """Lay out commands and seeds."""
    rows = []
    for program in PROGRAMS:
        tables = [read(name) for name in program.results]
        seeds = {seed for table in tables for seed in table.get("seed", [program.seed])}
        rows.append(
            (
                f"`{program.name}.py {program.options}`",
                ", ".join(f"[{name}]({LINK}/{name}.csv)" for name in program.results),
                ", ".join(map(str, sorted(seeds))),
            )
        )
    header = ["program", "every cell", "seed"]
    return grid(header, rows)


def confidences() -> str:
    """Tell how often a confidence in the own answer is taken for a belief in a state."""
    found = read("confidence")
    of_answer = found[found["read"] == "confidence"]
    held = of_answer.assign(rate=of_answer["held"] / of_answer["n_tables"])

    def kind(row: pd.Series) -> str:
        return f"{row['said']}, {row['options']} options, {row['rows']} rows"

    beliefs = found[found["read"] == "ordinary"]
    probabilities = found[found["read"] == "probability"]
    return (
        "Read as the belief in an option that is named, the confidence in the most probable of two "
        "to five is held back as `other_belief` in at least "
        f"{extreme(held, 'rate', kind, high=False)} of tables (else it is accused), of "
        f"{beliefs['n_tables'].sum() + probabilities['n_tables'].sum():,} with beliefs in a state "
        f"or probabilities of an option {beliefs['held'].sum() + probabilities['held'].sum()} are."
    )


SECTIONS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("What breaks a test", what_breaks),
    ("How small an effect is found", power),
    ("Sufficiency", sufficiency),
    ("Verdicts", verdicts),
    ("The exact posterior", exact_posterior),
    ("One null", one_null),
    ("Shared templates", shared_templates),
    ("Persons who judge the same cases", persons),
    ("Margins", margins),
    ("Confidences in the own answer", confidences),
    ("Matching probabilities", matching),
    ("Stated stakes", stakes),
    ("Thresholds", thresholds),
    ("Gaps that are not symmetric", asymmetric),
    ("Comparing models", comparing),
    ("Alongside other tests", others),
)


def page() -> str:
    """Return the whole page."""
    return "\n".join(
        [
            "# Do the error rates hold?",
            "",
            "<!-- Made by benchmarks/validity/page.py: change that, and run it. -->",
            "",
            "Find the row of your check: how often it rejects a true null in the worst of the "
            "designs simulated (in brackets), which should be .05 at most, and how often its 95% "
            "interval holds the truth. Then read what breaks it. Every cell is in the tables at "
            "the end.",
            "",
            overview(),
            "",
            f"Above the exact binomial bound (99.5%): {above()}. Coverage counts tables with an "
            f"interval. [Simulated]({LINK}/designs.py) before the checks changed: "
            "`predictive_gain` of groups, policies and features, `iterated_expectation`; before "
            "[one null](#one-null): verdicts, residual covariance, shared templates, means over "
            "tasks; before its rules on grids and copies: `sufficiency`, the exact posterior, "
            "comparisons.",
            *(line for title, section in SECTIONS for line in ("", f"## {title}", "", section())),
            "",
            "## The programs",
            "",
            "Each after `PYTHONPATH=. python benchmarks/validity/`; `page.py` makes this page.",
            "",
            programs(),
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
