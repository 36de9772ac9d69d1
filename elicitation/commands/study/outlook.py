"""A study seen from outside: what it would ask, what it has, what it costs. No model is loaded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coherence.cli.progress import duration
from coherence.table.printable import numbered
from elicitation.commands.elicit_options import named_model
from elicitation.commands.study.study_file import ModelEntry
from elicitation.commands.study.units import STORE, Finished, Unit, held_answers

if TYPE_CHECKING:
    from elicitation.asking.overview import Preview
    from elicitation.commands.study.units import BatteryUnit

HEAD = ("model", "task", "state", "answers", "to ask", "tokens in", "tokens out", "price", "time")


@dataclass(frozen=True)
class Outlook:
    """One unit from outside."""

    unit: Unit  # which
    finished: Finished | None  # what is written down of it, where it is finished
    ahead: "Preview | None"  # what it would ask, where it is not

    @property
    def n_left(self) -> int:
        """Answers still to be asked for."""
        return 0 if self.ahead is None else self.ahead.n_left

    @property
    def state(self) -> str:
        """In a word or two."""
        if self.finished is not None:
            return "finished"
        if self.ahead is not None and self.ahead.n_stored and self.ahead.n_left:
            return "begun"
        return "not begun" if self.n_left else "answered, no table yet"

    @property
    def tokens(self) -> tuple[float | None, float | None]:
        """Tokens of questions and answers: taken where it is finished, at most where not."""
        if self.finished is not None:
            return self.finished.tokens_in, self.finished.tokens_out
        assert self.ahead is not None
        return self.ahead.n_text_tokens, self.ahead.n_answer_tokens

    @property
    def price(self) -> float | None:
        """What `tokens` cost; None without prices, or where tokens were not counted."""
        return price_of(self.unit.model, *self.tokens)


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


def look_at(units: Sequence[Unit]) -> list[Outlook]:
    """Look at every unit."""
    from elicitation.asking.overview import preview

    outlooks = []
    held = held_answers(units[0].folder) if units else set()
    for unit in units:
        finished = unit.finished(held)
        ahead = None
        if finished is None:
            ahead = preview(
                unit.plan(),
                model_name=named_model(unit.options),
                store=unit.folder / STORE,
                system=unit.options.system,
            )
        outlooks.append(Outlook(unit, finished, ahead))
    return outlooks


def tell(outlooks: Sequence[Outlook], batteries: "Sequence[BatteryUnit]" = ()) -> str:
    """Return a table of all units, their sums, and which batteries are finished."""
    from coherence.report.columns import aligned
    from coherence.report.wording import clean

    rows = [[clean(cell) for cell in _row(outlook)] for outlook in outlooks]
    n_finished = sum(outlook.finished is not None for outlook in outlooks)
    lines = aligned([list(HEAD), *rows], right=tuple(range(3, len(HEAD)))) if rows else []
    n_left = sum(outlook.n_left for outlook in outlooks)
    to_ask = f"{n_left:,} {numbered(n_left, 'answer')} to ask"
    lines.append(f"{n_finished} of {len(outlooks)} finished; {to_ask}")
    left = [outlook for outlook in outlooks if outlook.n_left]
    if left:
        known = [
            outlook.ahead.seconds
            for outlook in left
            if outlook.ahead is not None and outlook.ahead.seconds is not None
        ]
        if known:
            beside = len(left) - len(known)
            lines.append(
                f"time for {'these' if not beside else 'those with a time'}: about "
                f"{duration(sum(known))}, at the speed of the answers in the store"
            )
    lines += _money(outlooks)
    if left:
        lines.append(
            "tokens and prices of what is not finished: of what is to ask; of answers at most"
        )
    for unit in batteries:
        state = "finished" if unit.is_finished else "to ask, in no sum above"
        lines.append(f"{clean(unit.label)}: {state}")
    return "\n".join(lines)


def _row(outlook: Outlook) -> list[str]:
    finished, ahead = outlook.finished, outlook.ahead
    if finished is not None:
        share = finished.n_readable / finished.n_answers
        answers = f"{finished.n_answers:,} ({share:.0%} readable)"
    else:
        answers = f"{ahead.n_stored:,} of {ahead.n_distinct:,}" if ahead is not None else ""
    tokens = ["not counted" if count is None else f"{count:,.0f}" for count in outlook.tokens]
    price = outlook.price
    return [
        outlook.unit.model.name,
        outlook.unit.task.name,
        outlook.state,
        answers,
        f"{outlook.n_left:,}",
        *tokens,
        "" if price is None else f"{price:,.2f}",
        _time(ahead) if ahead is not None and ahead.n_left else "",
    ]


def _time(ahead: "Preview") -> str:
    return "not known" if ahead.seconds is None else duration(ahead.seconds)


def _money(outlooks: Sequence[Outlook]) -> list[str]:
    lines = []
    groups = (("taken by what is finished", True), ("for what is to ask, at most", False))
    for words, done in groups:
        own = [each for each in outlooks if (each.finished is not None) == done]
        priced = [each.price for each in own if each.price is not None]
        if priced:
            lines.append(f"price {words}: {sum(priced):,.2f}")
        bare = [each for each in own if each.price is None and each.unit.model.has_prices]
        if bare:
            lines.append(
                f"not in it: {len(bare)} unit{'s'[: len(bare) > 1]} whose model did not count "
                "its tokens"
            )
    return lines
