"""Make ``docs/validity.md`` from ``page.txt``: every figure is read from a table of this folder.

    python benchmarks/validity/page.py

Sentences stand in ``page.txt``; what is in braces there is filled in by a function of `FIGURES`. A
new table needs a line of `PROGRAMS` and a row of the first table.
"""

import re
from collections.abc import Callable, Iterable

import pandas as pd
from scipy import stats
from study import HERE
from study import read_table as read

PAGE = HERE.parents[1] / "docs" / "validity.md"
LINK = "../benchmarks/validity"


PROGRAMS = {
    "simulate.py --datasets 400 --few 125": ("results",),
    "sufficiency.py --tables 100": ("sufficiency",),
    "exact_state.py --tables 100": ("exact_state",),
    "exact_state.py --tables 100 --nulls": ("exact_nulls",),
    "verdicts.py --tables 100": ("verdicts",),
    "verdicts.py --tables 200": ("sentences",),
    "one_null.py --tables 100": ("one_null",),
    "one_null.py --studies 60": ("one_null_pairs",),
    "gaps.py --tables 1000": ("gaps",),
    "scores.py --tables 200": ("scores",),
    "confidence.py --tables 60": ("confidence",),
    "groups.py --tables 400": ("groups",),
    "persons.py --tables 400": ("persons",),
    "margins.py --tables 100": ("margins",),
    "matching.py --tables 200": ("matching",),
    "stakes.py --tables 100": ("stakes",),
    "threshold.py --tables 100": ("threshold",),
    "comparison.py --studies 40": ("comparison",),
    "rivals.py --tables 200": ("rivals",),
    "mixing.py --sessions 1000": ("mixing_intervals", "mixing_tests"),
}
"""Command -> the tables that it writes."""
STAKES_IGNORED = ("ignores, from .5", "ignores, soft", "coin", "acts in 95%")
"""Agents of the table of stakes that follow none."""
PRICE = ("100 x 3", "noise .05, three reports", "noise .1", "five words", "five words, 200 cases")
"""Agents that act on more, of the table of one null, which the page shows."""
REFUSALS = "refusals by action and state"
"""Designs that break an assumption of the test, named as such on the page."""
FAMILIES = {
    **{name: name for name in ("residual covariance", "cmi", "predictive_gain", "evidence_leak")},
    **{name: name for name in ("prompt_consistency", "calibration")},
    "monotone_choice": "monotone",
    "iterated_expectation": "iterated_expectation|.*gap",
}
"""Check -> how the names begin that the large table has of it."""
Label = Callable[[pd.Series], str] | str  # of a cell, or a template of it
Figures = dict[str, str]


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


def cells_of(*texts: object) -> str:
    """Write cells of a Markdown table, without the ends of its row."""
    return " | ".join(map(str, texts))


def rows_of(rows: Iterable[Iterable[object]]) -> str:
    """Write rows of a Markdown table."""
    return "\n".join(f"| {cells_of(*row)} |" for row in rows)


def code(check: str) -> str:
    """Write the name of a check as code; of a part of one as it is."""
    return check if " " in check else f"`{check}`"


def extreme(table: pd.DataFrame, column: str, label: Label, high: bool = True) -> str:
    """Write the highest or lowest share of a table, and the cell that has it."""
    table = table.dropna(subset=column)
    row = table.loc[table[column].idxmax() if high else table[column].idxmin()]
    if table[column].nunique() == 1:
        return share(row[column])
    return (
        f"{share(row[column])} ({label.format_map(row) if isinstance(label, str) else label(row)})"
    )


def sizes(table: pd.DataFrame, count: str) -> str:
    """Write how many cells a table has, of how many data sets."""
    numbers = sorted(set(table[count]))
    many = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    return f"{len(table)} x {many}"


def line(
    null: tuple[pd.DataFrame, str, str], held: tuple[pd.DataFrame, str] | str, label: Label
) -> str:
    """Write of a procedure its cells, where it rejects most, and where it covers least."""
    table, count, rejected = null
    worst = held if isinstance(held, str) else extreme(*held, label, high=False)
    size = extreme(table, rejected, label) if rejected in table else rejected
    return cells_of(sizes(table, count), size, worst)


def results(kind: str, names: str) -> pd.DataFrame:
    """Return the lines of the large table whose checks match these names, with shares."""
    table = read("results")
    table = table[(table["kind"] == kind) & table["check"].str.match(names)]
    return table.assign(share=table["count"] / table["datasets"])


def of_results(check: str, design: str, kind: str = "size") -> str:
    """Return one share of the large table."""
    table = results(kind, f"{check}$").set_index("design")
    return share(table.loc[design, "share"])


def family(name: str) -> str:
    """Write what the large table has of a check."""
    null = results("size", FAMILIES[name])
    null = null[~null["design"].str.startswith(REFUSALS)]
    held = results("coverage", FAMILIES[name])

    def where(row: pd.Series) -> str:
        design = row["design"].removeprefix("policies, ").removeprefix("as of a model: ")
        quantity = row["check"].removeprefix(f"{name}:")
        named = "" if quantity == name else f"{quantity.removeprefix(f'{name} ')}, "
        return f"{named}{design}".replace("|", "\\|")

    tested = (null, "datasets", "share") if len(null) else (held, "datasets", "no test")
    return line(tested, (held, "share") if len(held) else "no interval", where)


def first_tables() -> Figures:
    """Return a row for each check, then for each procedure."""
    found = {name: family(name) for name in FAMILIES}
    known = read("sufficiency")
    named = known.replace({"design": {"inverted": "beliefs in the other state"}})
    null, studied = named[named["weight"] == 0], "{design}, {cases} cases"
    found["sufficiency"] = line((null, "tables", "together"), (named, "points_held"), studied)
    for effect in ("hidden share", "plain average"):
        held = (named, f"{effect.replace(' ', '_')}_held")
        found[effect] = line((named, "tables", "no test"), held, studied)
    exact = read("exact_nulls")
    exact = exact.assign(size=exact["at .05"] / exact["tables"])
    exact["held"] = exact["held 0"] / exact["intervals"].where(exact["intervals"] > 0)
    label = "{null}, {contexts} cases"
    found["exact nulls"] = line((exact, "tables", "size"), (exact, "held"), label)
    shapes = read("one_null")
    shapes = shapes[shapes["agent"] == "coherent"]
    shapes = shapes.assign(size=shapes["accused"] / shapes["n_tables"])
    as_sufficiency, label = "as `sufficiency`", "{design}, {n_cases} cases"
    found["shapes"] = line((shapes, "n_tables", "size"), as_sufficiency, label)
    scores = read("scores")
    null = (scores[scores["power"] == 1], "tables", "rejected")
    found["scores"] = line(null, (scores, "brier_held"), "{forecasts}, {cases} cases")
    match = read("matching")
    match = match[match["share_given"] > 0]
    null = match[match["acted_on"].isin(["what it says", "what it says + .1"])]
    found["matching"] = line(
        (null, "n_tables", "share_excludes_0"),
        (match, "share_covered"),
        lambda row: f"{row['acted_on']}, {row['flaw']}".removesuffix(", none"),
    )
    stakes = read("stakes")
    null = (stakes[stakes["coherent"]], "n_tables", "ignores")
    found["stakes"] = line(null, (stakes, "loss_covered"), "{agent}, {design}")
    judged = read("verdicts")
    null = (judged[judged["coherent"]], "tables", "accused")
    found["verdict"] = line(null, as_sufficiency, "{agent}, {state} state, {cases} cases")
    claims = read("margins")
    claims = claims[claims["difference"] > 0]
    claimed = f"claimed {extreme(claims, 'claimed', '{design}')}"
    found["margin"] = line((claims, "n_tables", claimed), as_sufficiency, "")
    panels = read("persons")
    panels = panels[(panels["reading"] == "person") & (panels["n_tested"] > 0)]
    null = (panels[panels["population"] != "knows"], "n_tables", "rejected")
    found["persons"] = line(null, (panels, "covered"), "{n_cases} cases x {n_persons}")
    pairs = read("comparison").dropna(subset="rejected")
    null = (pairs, "n_studies", "rejected")
    found["comparisons"] = line(null, (pairs, "covered"), "`{effect}`, {design}")
    flips, scored = read("mixing_tests"), read("mixing_intervals")
    flips = flips[flips["correlation"] == 0]
    flips = flips.assign(size=flips["rejected"] / flips["sessions"])
    scored = scored[~scored["quantity"].str.contains(":")]
    scored = scored.assign(held=scored["covered"] / scored["sessions"])
    held = extreme(scored, "held", "{agent}, {draws} draws", high=False)
    found["mixing"] = line((flips, "sessions", "size"), held, "{test}, {draws} draws")
    return found


def above() -> Figures:
    """Name the cells of the large table above the exact binomial bound, without refusals."""
    found = []
    for kind, level in (("size", 0.05), ("size at .01", 0.01)):
        table = read("results")
        table = table[(table["kind"] == kind) & ~table["design"].str.startswith(REFUSALS)]
        bound = stats.binom.ppf(0.995, table["datasets"], level)
        for row in table[table["count"] > bound].to_dict("records"):
            of = share(row["count"] / row["datasets"])
            found.append(f"`{row['check']}` at {share(level)}: {of} ({row['design']})")
    return {"above": "; ".join(found)}


def what_breaks() -> Figures:
    """Return what tests do where something breaks them."""
    verdicts = read("verdicts").set_index(["agent", "state", "cases"]).sort_index()
    noisy = verdicts.loc[("noisy, one report", "exact"), "acts_on_more_or_noisy"]
    groups, gaps = read("groups"), read("gaps")
    few = gaps[gaps["units"] <= 20].groupby("gaps")["test_0"]
    refused = {
        f"refused {part.lstrip('0')}, {check.split()[-1]}": of_results(check, f"{REFUSALS}: {part}")
        for part in ("0.1", "0.3")
        for check in ("residual covariance", "cmi")
    }
    return refused | {
        **{f"noisy {n}": share(noisy.loc[n]) for n in (60, 200)},
        "unnamed": share(groups.loc[~groups["named"], "rejected"].max()),
        "named": share(groups.loc[groups["named"], "rejected"].max()),
        "skewed": span(few.get_group("lognormal")),
        "a tenth large": span(few.get_group("a tenth large")),
    }


def power() -> Figures:
    """Return how often hidden shifts are found, 200 contexts x 5."""
    checks = ("residual covariance", "cmi", "predictive_gain")
    signals = [f"hidden signal {signal}" for signal in (0.1, 0.2, 0.4)]
    rows = [(code(each), *(of_results(each, of, "power") for of in signals)) for each in checks]
    leaks = [
        of_results("evidence_leak", f"leak of {leak} to actions, {n} x 5", "power")
        for leak, n in ((0.1, 200), (0.2, 100), (0.4, 50))
    ]
    scores = read("scores").set_index(["forecasts", "power", "cases"])["rejected"].sort_index()
    odds = {f"odds {n}": share(scores.loc["continuous", 2.0, n]) for n in (60, 300)}
    return odds | {"power": rows_of(rows), "leaks": ", ".join(leaks)}


def sufficiency() -> Figures:
    """Return what intervals of the primary test hold, and its power."""
    table = read("sufficiency")
    known = table[table["weight"] > 0]
    worst, many = known.loc[known["points_held"].idxmin()], known[known["cases"] == 200]
    direction = many[(many["design"] == "continuous") & (many["weight"] == 0.2)]
    found = {"worst points": f"{worst['design']}, {worst['cases']}"}
    for state in ("exact", "theta"):
        of = many[(many["design"] == "turn") & (many["state"] == state)]
        found[f"fifth, {state}"] = share(direction.set_index("state")["direction"][state])
        found[f"turn, {state}"] = share(of["turn"].max())
    return found


def posterior() -> Figures:
    """Return how many fewer contexts the exact posterior takes."""
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
    return {"posterior": rows_of(rows)}


def verdicts() -> Figures:
    """Return how often verdicts accuse, and whether their sentences are true."""
    table, rows = read("verdicts"), []
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
    told = (
        f"Of {claims['printed'].sum():,} printed claims of {len(claims)} kinds, "
        f"{share(claims['true'].sum() / claims['printed'].sum())} are true, least often "
        f'"{true.idxmin()}" ({share(true.min())}).'
    )
    return {"verdicts": rows_of(rows), "claims": told}


def groups() -> Figures:
    """Return what naming the groups does."""
    rows = []
    for check, part in read("groups").groupby("check", sort=False):
        named, unnamed = part[part["named"]], part[~part["named"]]
        figures = (
            span(each[column].dropna()) if each[column].notna().any() else "-"
            for column in ("rejected", "covered")
            for each in (unnamed, named)
        )
        rows.append((code(check), *figures))
    return {"groups": rows_of(rows)}


def one_null() -> Figures:
    """Return what verdicts say, whatever reports look like, and what it costs."""
    table, pairs = read("one_null"), read("one_null_pairs")

    def lines(part: pd.DataFrame) -> str:
        columns = ("accused", "or_noisy", "explained", "rejected", "as_exact")
        return rows_of(
            (
                f"{row['design']}, {row['n_cases']} x {row['n_reports']}",
                *(share(row[name] / row["n_tables"]) for name in columns),
            )
            for row in part.to_dict("records")
        )

    coherent = table[table["agent"] == "coherent"]
    accused, n_tables = coherent[["accused", "n_tables"]].sum()
    one = pairs[pairs["pair"].str.startswith("one agent")]
    text = (
        f"Of {n_tables:,} tables of {len(coherent)} coherent agents {share(accused / n_tables)} "
        f"are accused. `compare` tells two ways of reporting of one agent apart in "
        f"{one['differ'].sum()} of {one['n_studies'].sum()} studies."
    )
    leaky = table[(table["agent"] == "leaky") & table["design"].isin(PRICE)]
    misled = lines(table[table["agent"] == "misled"])
    return {"coherent agents": text, "price": lines(leaky), "misled": misled}


def persons() -> Figures:
    """Return what naming persons does."""
    table = read("persons")
    named, groups = (
        table[(table["reading"] == reading) & (table["n_tested"] > 0)]
        for reading in ("person", "cells, group=person")
    )
    power = named[(named["population"] == "knows") & (named["n_cases"] >= 20)]["rejected"]
    return {
        "persons, power": span(power),
        "persons as groups": span(groups.loc[groups["population"] != "knows", "rejected"]),
        "persons as groups, held": span(groups["covered"]),
    }


def margins() -> Figures:
    """Return how many contexts a margin takes."""
    table = read("margins")
    rows = [
        (design, *(share(value) for value in part.sort_values("n_contexts")["claimed"]))
        for design, part in table[table["difference"] == 0].groupby("design", sort=False)
    ]
    return {"margins": rows_of(rows), "sizes": cells_of(*sorted(set(table["n_contexts"])))}


def confidences() -> Figures:
    """Return how often a confidence in the own answer is taken for a belief in a state."""
    found = read("confidence")
    of_answer = found[found["read"] == "confidence"]
    held = of_answer.assign(rate=of_answer["held"] / of_answer["n_tables"])
    rest = found[found["read"] != "confidence"][["n_tables", "held"]].sum()
    worst = extreme(held, "rate", "{said}, {options} options, {rows} rows", high=False)
    beliefs = {"beliefs": f"{rest['n_tables']:,}", "beliefs held": str(rest["held"])}
    return beliefs | {"own answers": worst}


def matching() -> Figures:
    """Return what passes the gate of matching probabilities."""
    table = read("matching")
    passed = table.groupby("acted_on")["passed"].max()
    follow = table[table["acted_on"].isin(passed[passed > 0].index)]["passed"]
    return {"passed": span(follow), "unanswering": ", ".join(passed[passed == 0].index)}


def stakes() -> Figures:
    """Return how often agents that ignore their stakes are told so."""
    table = read("stakes")
    ignoring = table[table["agent"].isin(STAKES_IGNORED)]
    coherent = table[table["coherent"]].groupby("design")["ignores"].max()
    rows = [
        (design, span(part["ignores"]), share(coherent[design]))
        for design, part in ignoring.groupby("design", sort=False)
    ]
    return {"stakes by design": rows_of(rows)}


def thresholds() -> Figures:
    """Return how often a threshold is given, and is wrong."""
    table = read("threshold")
    worst = table.loc[table["wrong"].idxmax()]
    inside = table[~table["design"].str.contains("beliefs|do not move")]
    beyond = table[table["design"].str.contains("beliefs .05|beliefs .5 ")]
    of_worst = f"{worst['design']}, {worst['n_cases']} cases with {worst['n_reps']} report"
    return {
        "inside": span(inside["number"]),
        "inside, wrong": span(inside["wrong"]),
        "beyond": span(beyond["bound"]),
        "beyond, wrong": span(beyond["wrong"]),
        "worst threshold": f"{of_worst}, {share(worst['wrong'])}",
    }


def gaps() -> Figures:
    """Return what skewed gaps do."""
    table = read("gaps")
    table = table[~table["grouped"]]
    columns = ("test_0", "flips_0", "t_0", "test_below")
    rows = [
        (gaps, *(span(part[column]) for column in columns))
        for gaps, part in table.groupby("gaps", sort=False)
    ]
    of = f"{table['units'].min()} to {table['units'].max()}"
    return {"gaps": rows_of(rows), "gap sizes": of}


def rivals() -> Figures:
    """Return other tests on the same tables, with the exact posterior."""
    table = read("rivals")
    table = table[table["state"] == "exact"]
    null, effect = table[table["effect"] == 0], table[table["effect"] == 1]
    jumps = null["design"].str.contains("choice and calibration jump")
    turning = effect["design"].str.contains("turning")
    parts = (null[~jumps], null[jumps], effect[~turning], effect[turning])
    rows = [
        (test, *(span(part.loc[part["test"] == test, "rejected"]) for part in parts))
        for test in dict.fromkeys(table["test"])
    ]
    return {"rivals": rows_of(rows)}


def programs() -> Figures:
    """Return commands and seeds."""
    rows = []
    for command, names in PROGRAMS.items():
        seeds = {seed for name in names for seed in read(name).get("seed", [1])}
        links = ", ".join(f"[{name}]({LINK}/{name}.csv)" for name in names)
        rows.append((f"`{command}`", links, ", ".join(map(str, sorted(seeds)))))
    return {"programs": rows_of(rows), "any false": span(read("comparison")["any_false"].dropna())}


FIGURES = (
    *(first_tables, above, what_breaks, power, sufficiency, verdicts, posterior, one_null, groups),
    *(persons, margins, confidences, matching, stakes, thresholds, gaps, rivals, programs),
)


def page() -> str:
    """Return the whole page."""
    figures = {name: text for of in FIGURES for name, text in of().items()}
    text = (HERE / "page.txt").read_text(encoding="utf-8")
    return re.sub(r"\{([^}]+)\}", lambda place: figures[place[1]], text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
