"""The nearest rational agent of one (task, model) of a runs table."""

from typing import Any

from coherence.analysis.reading import states_of_tasks
from coherence.analysis.unit import UnitRows
from coherence.checks.catalogue import declaration
from coherence.errors import InputError, closest, listing
from coherence.inputs import as_contexts, require
from coherence.rational.agent import RationalAgent
from coherence.rational.fit import fit_rational_agent
from coherence.statistics.resample import as_units
from coherence.table.needs import JUDGED_CHOICES
from coherence.table.runs import UNIT, Runs


def fit_unit(
    runs: Runs,
    *,
    task: str | None = None,
    model: str | None = None,
    positive: Any = None,
    reference: str | None = None,
) -> tuple[RationalAgent, str]:
    """Fit the rational agent that `coherence.analyze` fits to one (task, model)."""
    completed = runs.completed()
    table = completed.table
    for column, wanted in zip(UNIT, (task, model), strict=True):
        there = sorted(table[column].unique())
        require(
            wanted is None or wanted in there,
            f"{column} must be one of the table; received {wanted!r}. "
            f"{closest(str(wanted), there)}",
        )
        table = table if wanted is None else table[table[column] == wanted]
    units = sorted(map(tuple, table[list(UNIT)].drop_duplicates().to_numpy().tolist()))
    if len(units) > 1:
        named = listing([f"task {of!r} with model {by!r}" for of, by in units])
        raise InputError(
            f"the table must leave one (task, model) to be fitted; received {len(units)}: {named}. "
            "Name one: --task TASK --model MODEL (task=, model=)."
        )
    check = declaration("rational_agent")
    rows = completed.part(table)
    labels, meant = states_of_tasks(rows, positive, [check])[str(units[0][0])]
    unit = UnitRows(rows, positive=meant, labels=labels, reference=reference)
    require(
        unit.in_two_states and not unit.unpaired and len(unit.judged) > 0,
        "the table must have rows with a belief in one of two states, an action and a state "
        "(theta); received none. An agent without answers is planned by its name.",
    )
    if unit.crossed:
        raise InputError(
            f"the table must hold answers of one agent; received {unit.rows['person'].nunique()} "
            "persons who judged the same contexts. Keep the rows of one person, or name an agent "
            "to plan for."
        )
    facts = unit.facts(JUDGED_CHOICES, False)
    contexts = as_contexts(facts.context, len(facts.belief))
    enough = facts.group is not None and not as_units(facts.group, *contexts).too_few
    agent = fit_rational_agent(
        facts.belief,
        facts.action,
        facts.truth,
        exact=facts.exact_or_none,
        context=facts.context,
        group=facts.group if enough else None,
        positive=facts.positive,
        noise=0.0 if facts.computed else None,
    )
    of, by = units[0]
    return agent, " on ".join(part for part in (by, of) if part) or "the fitted agent"
