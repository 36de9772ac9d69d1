"""A reply taken apart: what was thought aloud, what was said, and whether it came to its end.

A model may write its thinking before its answer, between tags of its own; a server may cut a reply
or withhold it; marks that end a turn may be left in the text, with another turn behind them. None
of that is the answer, and none of it is read as one.
"""

import re
from dataclasses import dataclass

_NAMES = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
# With a maker's name before it, as in <seed:think> and <longcat_think>; <|START_THINKING|> is
# Cohere's, <|channel> Gemma's, <|inner_prefix|> that of Apertus. Linear: every alternative begins
# with a bracket, and what could overlap is short.
_TAG = re.compile(
    r"(?P<open>[<\u25c1]\|?)(?P<slash>/?)(?:(?P<edge>begin|start|end)(?:_of)?_)?"
    rf"(?:[a-z]{{1,9}}[:_|])?(?:{_NAMES})\s?\|?[>\u25b7]|\[(?P<bar>/?)THINK\]"
    r"|<\|channel>|(?P<after><channel\|>)|<\|inner_(?:prefix|(?P<suffix>suffix))\|>",
    re.IGNORECASE,
)
_CLOSED_BY = {"<|channel>": "<channel|>", "<|inner_prefix|>": "<|inner_suffix|>"}
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)\s*(?:<\|constrain\|>\s*\w+\s*)?<\|message\|>")
# A tag of another name at the beginning is taken for one of thinking, if it is none of an answer.
# A label in brackets, `<No>: 0.3`, is no tag.
_FIRST = re.compile(r"\s*<\|?(?P<name>[a-z][\w:-]{0,40})\|?>(?!:)", re.IGNORECASE)
_OF_ANSWERS = re.compile(
    r"(?:final[ _-]?)?(?:answer|probability|response|output|result|reply|json|code)|final"
    r"|begin_of_box|p|ul|ol|li|div|span|br ?/?|b|i|em|strong|table|html|body|pre|h[1-6]|s|bos",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"^\s*(?:<s>|<bos>|<\|begin_of_text\|>|<\|startoftext\|>)?\s*"
    r"(?:<\|im_start\|>\s*assistant|<start_of_turn>\s*model|<\|assistant\|>"
    r"|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>)?"
)
_END = re.compile(
    r"<\|(?:im_end|eot|eot_id|eom_id|end|endoftext|end_of_text|end_of_turn|END_OF_TURN_TOKEN|return"
    r"|eos)\|>"
    r"|</s>|<end_of_turn>|<eos>|<eot>|<\uff5cend\u2581of\u2581sentence\uff5c>|\[EOS\]"
)

REFUSALS = (
    "i cannot",
    "i can't",
    "i can not",
    "i am unable",
    "i'm unable",
    "i am not able",
    "i'm not able",
    "i won't",
    "i will not",
    "i must decline",
    "i decline",
    "as an ai",
    "not appropriate for me",
)
"""Phrases (lower case, straight apostrophes) that make an unparsed reply a refusal."""


def sounds_like_refusal(text: str) -> bool:
    """Return whether a text has one of the phrases of a refusal, with either apostrophe."""
    plain = text.lower().replace("\u2019", "'")
    return any(phrase in plain for phrase in REFUSALS)


@dataclass(frozen=True)
class Reply:
    """What of a reply is to be read."""

    # what was said, without thinking and without the marks of a turn; of a cut reply its complete
    # lines alone, since whatever comes last may have been cut itself
    text: str
    thinking: str | None = None  # what was thought aloud; None where nothing was
    cut: bool = False  # whether the reply was cut before its end
    unfinished: bool = False  # whether it was still thinking when it ended
    marked: bool = False  # whether marks of a turn were taken away


def open_thinking(prompt: str) -> str:
    """Return a prompt from where it opens a thinking that it does not close; "" where it does not.

    An answer to it begins inside the thinking.
    """
    channels = list(_CHANNEL.finditer(prompt))
    if channels and channels[-1][1].lower() != "final":
        return prompt[channels[-1].start() :]
    start: int | None = None
    for tag in _TAG.finditer(prompt):
        if _closes(tag):
            start = None
        elif start is None:
            start = tag.start()
    return "" if start is None else prompt[start:]


def closing_tag(opened: str) -> str:
    """Return what closes a thinking that begins so, as `open_thinking` returns it."""
    tag = _TAG.match(opened)
    if tag is None:
        return "<|channel|>final<|message|>"
    if tag[0] in _CLOSED_BY:
        return _CLOSED_BY[tag[0]]
    if tag["edge"]:
        return tag[0].replace(tag["edge"], "END" if tag["edge"].isupper() else "end")
    opened = tag["open"] or tag[0][0]
    return f"{opened}/{tag[0].removeprefix(opened)}"


def is_thinking_tag(text: str) -> bool:
    """Tell whether a text is a tag that opens or closes a thinking."""
    return _TAG.fullmatch(text) is not None


def _closes(tag: re.Match[str]) -> bool:
    ends = (tag["slash"], tag["bar"], tag["after"], tag["suffix"])
    return any(ends) or (tag["edge"] or "").lower() == "end"


def take_apart(text: str, finish_reason: str | None = None) -> Reply:
    r"""Take thinking, marks of a turn and an incomplete end away from a reply."""
    cut = finish_reason == "length"
    said, thinking, unfinished = _without_thinking(text)
    body, marked = said, False
    if "<" in body or "[" in body:
        turn = _TURN.match(body)
        opening = turn.end() if turn and turn[0].strip() else 0
        end = _END.search(body, opening)
        if end:
            # What follows the end of a turn is no answer to this question, and what stands before
            # it was not cut.
            cut = False
        whole = body
        body = body[opening : end.start() if end else len(body)]
        # Between <s> and </s> a page strikes out what a model with these marks of a turn says: of a
        # reply that goes on after them it is not known which was meant.
        if (
            end
            and end[0] == "</s>"
            and "<s>" in whole[: end.start()]
            and whole[end.end() :].strip()
        ):
            body = ""
        marked = body != said
    if cut:
        body = body[: body.rfind("\n") + 1]
    return Reply(body, thinking, cut, unfinished, marked)


def _is_mark(tag: re.Match[str]) -> bool:
    """Tell whether a tag at the beginning is one of answers, of turns or of their end."""
    if _OF_ANSWERS.fullmatch(tag["name"]):
        return True
    turn, text = _TURN.match(tag.string), tag[0].strip()
    return bool((turn and turn[0].strip()) or _END.fullmatch(text))


def _without_thinking(text: str) -> tuple[str, str | None, bool]:
    """Return what was said, what was thought, and whether the thinking has no end."""
    if not any(mark in text for mark in ("<", "\u25c1", "[THINK]", "[/THINK]")):
        return text, None, False
    channels = list(_CHANNEL.finditer(text))
    if channels:
        last = channels[-1]
        if last[1].lower() != "final":
            return "", text, True
        return text[last.end() :], text[: last.start()], False
    first = _FIRST.match(text)
    if first and not _TAG.match(text.lstrip()) and not _is_mark(first):
        name = re.escape(re.sub("^start_?", "", first["name"], flags=re.IGNORECASE))
        close = re.compile(rf"<(?:/|\|/|\|?end_?){name}\|?>", re.IGNORECASE).search(text)
        if close is None:
            return "", text, True
        rest, more, inside = _without_thinking(text[close.end() :])
        return rest, text[: close.start()] + (more or ""), inside
    said: list[str] = []
    thought: list[str] = []
    inside, position, tags = False, 0, 0
    for tag in _TAG.finditer(text):
        tags += 1
        closes = _closes(tag)
        piece = text[position : tag.start()]
        position = tag.end()
        if inside:
            thought.append(piece)
            inside = not closes
        elif closes:
            # The opening tag may be part of the question's template: all before was thinking.
            thought += [*said, piece]
            said = []
        else:
            said.append(piece)
            inside = True
    if not tags:
        return text, None, False
    (thought if inside else said).append(text[position:])
    return "".join(said), "".join(thought), inside
