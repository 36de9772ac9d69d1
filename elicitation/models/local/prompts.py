"""What a tokenizer and its chat template do to a question, looked at once when they are opened.

Three things put an answer elsewhere than behind the question, or make it another one: a tokenizer
that adds its end token behind the text, a template that opens the model's thinking, and a template
that writes the date. The first is cut, the second is known to whoever reads the answer, and the
third is written as of one fixed day, so that an answer does not depend on when it was asked for.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

from coherence.decoding.statements import closing_tag, is_thinking_tag, open_thinking
from coherence.errors import InputError
from elicitation.models.base import require_texts

# A text that is in no template, system message or prefill, and of which no tokenizer makes a
# special token.
_PROBE = "Which of the two is it?"
DAY = datetime(2024, 7, 26)
"""The date that templates write: that of Llama's where there is no clock."""
# Of a format of dates; "%-d" is a day without its leading zero.
_DATE_CODES = (
    *(f"%-{code}" for code in "dHIjmMSy"),
    *(f"%{code}" for code in "aAbBcdDeFfGhHIjmMnpRStTuUVwWxXyYzZ%"),
)
# A tag at the end of a prompt, of a name that nobody knows; tags of turns are special tokens, or
# have one of the names below, as tags of answers do.
_OPENING = re.compile(
    r"(?:<(?P<bar>\|?)(?P<name>[a-z][\w:-]*)(?:\s[^<>]*)?(?P=bar)>"
    r"|\[(?P<bracket>[a-z][\w -]*)\])\s*",
    re.IGNORECASE,
)
# What such a tag is called where it is a special token, as those of turns are, or has bars.
_THOUGHT = re.compile(
    r"think|thought|reason|reflect|analy|(?:^|_)cot(?:$|_)|scratch", re.IGNORECASE
)
_TURNS = re.compile(
    r"(?:start_of_)?(?:assistant|ai|bot|chatbot|gpt|model|system|user|turn|inst)(?:_turn)?"
    r"|(?:final[ _-]?)?(?:answer|probability|response|output|result|reply|json|code|decision)|final"
    r"|s|bos",
    re.IGNORECASE,
)
# Differs from it in all that a template may write.
_OTHER_DAY = datetime(2031, 11, 5, 13, 47, 29)


@dataclass(frozen=True)
class PromptFacts:
    """What is done to a question before a model reads it; usually nothing of this."""

    n_behind: int = 0  # tokens that the tokenizer adds behind a text
    thinking: str = ""  # the prompt from where it opens a thinking that it does not close
    is_dated: bool = False  # whether the template writes the date
    # special tokens that open or close a thinking, by their ids: decoding leaves special tokens out
    tags: Mapping[int, str] = field(default_factory=dict)

    @property
    def settings(self) -> str:
        """What of this changes answers, for a fingerprint."""
        date = f"{DAY:%Y-%m-%d}" if self.is_dated else ""
        return (
            f";cut_behind={self.n_behind};thinking={self.thinking};date={date}"
            f";tags={sorted(self.tags.values())}"
        )

    @property
    def remedy(self) -> str:
        """What ends the thinking that the prompt opens."""
        tag = _OPENING.fullmatch(self.thinking)
        if tag is None or is_thinking_tag(self.thinking.strip()):
            return f'--set "prefill={closing_tag(self.thinking)}"'
        return f'--set "prefill={_closing(tag)}"'


def _closing(tag: re.Match[str]) -> str:
    """Return what closes a tag of `_OPENING`."""
    bar = tag["bar"] or ""
    return f"<{bar}/{tag['name']}{bar}>" if tag["name"] else f"[/{tag['bracket']}]"


def examine_prompt(
    tokenizer: Any, render: Callable[[str, datetime], str], *, add_special_tokens: bool
) -> PromptFacts:
    """Look at how a tokenizer and its template make a prompt of a question.

    `render` returns the prompt of a text as of a day.
    """
    prompt = render(_PROBE, DAY)
    ids = tokenizer(prompt, add_special_tokens=add_special_tokens)["input_ids"]
    plain = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    tokens = special_tokens(tokenizer)
    behind = prompt.rpartition(_PROBE)[2]
    # Of a system message that speaks of thinking nothing is opened: what counts comes behind.
    unknown = _unknown_opening(behind, tokens.values())
    closing = None if unknown is None else _closing(unknown)
    return PromptFacts(
        # What it does not know is part of the text.
        n_behind=max(
            _n_added_behind(
                prompt, ids, {i: tokens[i] for i in tokens if i != tokenizer.unk_token_id}
            ),
            _n_more_behind(ids, plain),
        ),
        thinking=open_thinking(behind) or ("" if unknown is None else unknown[0]),
        is_dated=prompt != render(_PROBE, _OTHER_DAY),
        tags={i: it for i, it in tokens.items() if is_thinking_tag(it) or it == closing},
    )


def _unknown_opening(prompt: str, special: Collection[str]) -> re.Match[str] | None:
    """Return the tag that a prompt ends in, where it may open a thinking."""
    *_, tag = [None, *_OPENING.finditer(prompt)]
    if tag is None or tag.end() < len(prompt):
        return None
    name = tag["name"] or tag["bracket"]
    if name.lower().startswith("end"):
        return None
    plain = not tag["bar"] and tag[0].strip() not in special
    return tag if _THOUGHT.search(name) or (plain and not _TURNS.fullmatch(name)) else None


def open_at_end(text: str) -> str:
    """Return the tag of a thinking that a text ends in; "" where it ends in none."""
    if is_thinking_tag(known := open_thinking(text).strip()):
        return known
    *_, tag = [None, *_OPENING.finditer(text)]
    name = "" if tag is None or tag.end() < len(text) else tag["name"] or tag["bracket"]
    opens = _THOUGHT.search(name) and not name.lower().startswith("end")
    return tag[0].strip() if tag and opens else ""


def special_tokens(tokenizer: Any) -> dict[int, str]:
    """Return the special tokens of a tokenizer by their ids."""
    ids = tokenizer.all_special_ids
    named = dict(zip(ids, tokenizer.convert_ids_to_tokens(ids), strict=True))
    added = tokenizer.added_tokens_decoder
    return named | {i: token.content for i, token in added.items() if token.special}


def _n_added_behind(prompt: str, ids: Sequence[int], special: Mapping[int, str]) -> int:
    """Return how many special tokens stand behind what the prompt itself ends in."""
    n_special = 0
    while n_special < len(ids) and ids[-1 - n_special] in special:
        n_special += 1
    ending = ["".join(special[i].split()) for i in ids[len(ids) - n_special :]]
    # Those that the template wrote come first; blanks between them may be lost.
    whole = "".join(prompt.split())
    n_written = max(k for k in range(n_special + 1) if whole.endswith("".join(ending[:k])))
    return n_special - n_written


def _n_more_behind(ids: Sequence[int], plain: Sequence[int]) -> int:
    """Return how many tokens stand behind those of the text alone, special by name or not."""
    n_more = len(ids) - len(plain)
    ends = (
        n_behind
        for n_behind in range(n_more + 1)
        if list(ids[n_more - n_behind : len(ids) - n_behind]) == list(plain)
    )
    return next(ends, 0)


def template_of_day(tokenizer: Any, day: datetime) -> str | None:
    """Return a chat template that writes a fixed date; None where the tokenizer's own writes none.

    A template has no other way to a date than this function, which transformers gives it.
    """
    template: str = tokenizer.get_chat_template()
    if "strftime_now" not in template:
        return None
    replaced = "".join(f"|replace({code!r},{text!r})" for code, text in _written(day).items())
    return f"{{% macro strftime_now(format) %}}{{{{ format{replaced} }}}}{{% endmacro %}}{template}"


@cache
def _written(day: datetime) -> dict[str, str]:
    written = {}
    for code in _DATE_CODES:
        with suppress(ValueError):  # this machine's library does not know it
            written[code] = day.strftime(code)
    return written


class Prompting:
    """Texts as a causal model reads them, by its tokenizer alone; arguments as of `CausalModel`."""

    def __init__(
        self, tokenizer: Any, *, name: str, chat: bool, system: str | None = None, prefill: str = ""
    ) -> None:
        self.tokenizer, self.name = tokenizer, name
        self.chat, self.system, self.prefill = chat, system, prefill
        self.facts = examine_prompt(tokenizer, self._render, add_special_tokens=not chat)

    def encode(self, texts: Sequence[str], *, answer: str = "") -> list[list[int]]:
        """Return the token ids of each text in its template, with the beginning of the answer.

        The beginning is `prefill` and then `answer`. Raises `InputError` for a text without a
        token.
        """
        require_texts(texts, "texts")
        if not texts:
            return []
        # A chat template brings its own start token; plain text gets the one that the tokenizer
        # adds.
        ids: list[list[int]] = self.tokenizer(
            [self.render(text) + answer for text in texts], add_special_tokens=not self.chat
        )["input_ids"]
        # An end token that the tokenizer adds stands behind the text, and no answer follows it.
        ids = [tokens[: len(tokens) - self.facts.n_behind] for tokens in ids]
        for i, tokens in enumerate(ids):
            if not tokens:
                raise InputError(
                    f"every text must have a token; text {i} is {texts[i]!r} and has none. "
                    "Write something before the answer."
                )
        return ids

    def render(self, text: str) -> str:
        """Return a question as the model reads it, with the beginning of the answer."""
        return self._render(text, DAY)

    def _render(self, text: str, day: datetime) -> str:
        if not self.chat:
            return text + self.prefill
        messages = [{"role": "user", "content": text}]
        if self.system:
            messages.insert(0, {"role": "system", "content": self.system})
        try:
            rendered: str = self.tokenizer.apply_chat_template(
                messages,
                add_generation_prompt=True,
                tokenize=False,
                chat_template=template_of_day(self.tokenizer, day),
            )
        except Exception as error:  # a template is a program, and this tokenizer may have none
            refused = "a system message" if self.system else "the text"
            raise InputError(
                f"the chat template of {self.name} refuses {refused}: "
                f"{' '.join(str(error).split())[:300]}"
            ) from error
        # Some take only texts in parts, and drop or cut others without a word.
        if text.strip() not in rendered:
            raise InputError(
                f"the chat template of {self.name} leaves out or changes the text: of "
                f"{text.strip()[:40]!r} it makes {rendered[:120]!r}. "
                "Go without it (--no-chat, chat=False)."
            )
        # Not through the template: some strip the blank at the end of the prefill, or close the
        # turn.
        return rendered + self.prefill
