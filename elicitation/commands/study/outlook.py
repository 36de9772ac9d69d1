"""A study seen from outside: what it would ask, what it has, what it costs. No model is loaded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coherence.table.printable import numbered
from elicitation.commands.battery import store_of
from elicitation.commands.dry_run import BY_NAME
from elicitation.commands.elicit_options import planned_session
from elicitation.commands.study.study_file import ModelEntry
from elicitation.commands.study.units import STORE, Unit, held_answers

if TYPE_CHECKING:
    from elicitation.asking.overview import Preview
    from elicitation.commands.study.units import BatteryUnit

HEAD = ("model", "task", "state", "answers", "to ask", "tokens in", "tokens out", "price")


@dataclass(frozen=True)
class Outlook:
    """One model on one task, or in one battery, from outside."""

    model: ModelEntry  # who
    name: str  # of the task or battery
    finished: bool
    answers: str  # how many there are
    tokens: tuple[float | None, float | None]  # as `Preview` and `Finished` have them
    planned: "Preview | None"  # what it would ask, where it is not finished
    condition: str = ""  # see `PlannedAnswers`

    @property
    def n_left(self) -> int:
        """Answers still to be asked for."""
        return 0 if self.planned is None else self.planned.n_left

    @property
    def state(self) -> str:
        """In a word or two."""
        if self.finished:
            return "finished"
        if self.planned is not None and self.planned.n_stored and self.planned.n_left:
            return "begun"
        return "not begun" if self.n_left else "answered, no table yet"

    @property
    def price(self) -> float | None:
        """What `tokens` cost; None without prices, or where tokens were not counted."""
        return price_of(self.model, *self.tokens)


def price_of(model: ModelEntry, tokens_in: float | None, tokens_out: float | None) -> float | None:
    """Return what tokens cost; None where no price is said, or the tokens it is of are unknown."""
    parts = [
        None if tokens is None else price * tokens / 1e6
        for price, tokens in ((model.price_in, tokens_in), (model.price_out, tokens_out))
        if price is not None
    ]
    if not parts or None in parts:
        return None
    return sum(part for part in parts if part is not None)


def look_at(units: Sequence[Unit], batteries: "Sequence[BatteryUnit]" = ()) -> list[Outlook]:
    """Look at every unit and at every battery."""
    outlooks = []
    held = held_answers(units[0].folder) if units else set()
    for unit in units:
        model, name = unit.model, unit.task.name
        if done := unit.finished(held):
            share = done.n_readable / done.n_answers
            answers = f"{done.n_answers:,} ({share:.0%} readable)"
            tokens = done.tokens_in, done.tokens_out
            outlooks.append(Outlook(model, name, True, answers, tokens, None))
            continue
        store = str(unit.folder / STORE)
        look = planned_session(unit.options, unit.source(), unit.plan()).preview(
            unit.options, store
        )
        outlooks.append(_unfinished(model, name, look))
    for battery in batteries:
        model, name, planned = battery.model, battery.battery.name, battery.planned()
        store, made = store_of(battery.options), battery.is_finished
        # What a finished one did not ask, its model could not answer.
        look = planned.preview(battery.options, store, sure=made)
        if made and not look.n_left:
            tokens = look.n_text_tokens_stored, look.n_answer_tokens_stored
            outlooks.append(Outlook(model, name, True, f"{look.n_stored:,}", tokens, None))
            continue
        look = planned.preview(battery.options, store) if made else look
        condition = planned.condition(battery.options, store)
        outlooks.append(replace(_unfinished(model, name, look), condition=condition))
    return outlooks


def _unfinished(model: ModelEntry, name: str, look: "Preview") -> Outlook:
    answers = f"{look.n_stored:,} of {look.n_distinct:,}"
    tokens = look.n_text_tokens, look.n_answer_tokens
    return Outlook(model, name, False, answers, tokens, look)


def tell(outlooks: Sequence[Outlook]) -> str:
    """Return a table of all units and batteries, and their sums."""
    from coherence.report.document import table_of_texts
    from coherence.report.layout import MAX_WIDTH, render_parts
    from coherence.report.wording import clean

    table = table_of_texts(HEAD, map(_row, outlooks), n_labels=3)
    n_finished = sum(outlook.finished for outlook in outlooks)
    lines = [render_parts([table], width=MAX_WIDTH)] if outlooks else []
    n_left = sum(outlook.n_left for outlook in outlooks)
    to_ask = f"{n_left:,} {numbered(n_left, 'answer')} to ask"
    lines.append(f"{n_finished} of {len(outlooks)} finished; {to_ask}")
    lines += [
        clean(f"{each.model.name}, {each.name}: {each.n_left:,} to ask{each.condition}", limit=None)
        for each in outlooks
        if each.condition
    ]
    named = [
        each.model.name for each in outlooks if each.planned is not None and each.planned.by_name
    ]
    if named:
        lines.append(clean(f"{', '.join(dict.fromkeys(named))}: {BY_NAME}", limit=None))
    left = [outlook for outlook in outlooks if outlook.n_left]
    lines += _money(outlooks)
    if left:
        lines.append(
            "tokens and prices of what is not finished: of what is to ask; of answers at most"
        )
    return "\n".join(lines)


def _row(outlook: Outlook) -> list[str]:
    tokens = ["not counted" if count is None else f"{count:,.0f}" for count in outlook.tokens]
    price = outlook.price
    return [
        outlook.model.name,
        outlook.name,
        outlook.state,
        outlook.answers,
        f"{outlook.n_left:,}",
        *tokens,
        "" if price is None else f"{price:,.2f}",
    ]


def _money(outlooks: Sequence[Outlook]) -> list[str]:
    lines = []
    groups = (("taken by what is finished", True), ("for what is to ask, at most", False))
    for words, done in groups:
        own = [each for each in outlooks if each.finished == done]
        priced = [each.price for each in own if each.price is not None]
        if priced:
            lines.append(f"price {words}: {sum(priced):,.2f}")
        bare = [each for each in own if each.price is None and each.model.has_prices]
        if bare:
            lines.append(
                f"not in it: {len(bare)} unit{'s'[: len(bare) > 1]} whose model did not count "
                "its tokens"
            )
    return lines
