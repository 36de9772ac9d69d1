"""Answers from a causal language model in this process, through transformers.

The loop is our own: rows are padded on the left with explicit positions, and every row draws from
its own generator, by inverting the cumulative probabilities in double precision at a uniform number
of its own. An answer therefore depends on the model, the text and the seed, not on the batch it was
computed in. Probabilities of given sequences come without any drawing.
"""

import gc
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
import torch
from transformers import AutoModelForCausalLM

from coherence.cli.terminal import duration
from coherence.errors import CoherenceError, InputError
from coherence.printable import counted
from elicitation.models.base import Answer, Request, end_of_lines, first_lines, require_requests
from elicitation.models.local.forward import (
    MaskedTrees,
    NetworkReading,
    PlainTrees,
    ReadingMode,
    TextsRead,
    Trees,
    context_size,
    is_out_of_memory,
    reading_order,
    require_numbers,
)
from elicitation.models.local.loading import (
    UNQUANTISED,
    find_source,
    load_network,
)
from elicitation.models.local.prompts import DAY, Prompting, open_at_end
from elicitation.models.local.scoring import (
    Floats,
    ReadsForms,
    continuation_logprobs,
    spelling_masses,
)
from elicitation.spelling.forms import Spelling
from elicitation.spelling.tokenizations import (
    SpellingGraph,
    SpellingMasses,
    Vocabulary,
    spelling_graph,
)


@dataclass
class Row:
    """An answer on its way."""

    request: Request  # what is answered
    ends: frozenset[int]  # tokens that end an answer
    beginning: str = ""  # what the answer begins with before the first token is drawn
    # special tokens that open or close a thinking: decoding would leave them out of the answer
    tags: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Philox keyed by the seed: its stream is fixed by specification, on every machine and for
        # every batch.
        generator = np.random.Generator(np.random.Philox(key=self.request.seed))
        self.uniforms: Iterator[float] = iter(generator.random(self.request.max_new_tokens))
        self.tokens: list[int] = []
        self.logprob, self.done = 0.0, False
        # In the words of OpenAI's API; "stop" also where the lines asked for are complete.
        self.finish_reason = "stop"

    def add(self, token: int, logprob: float, tokenizer: Any) -> None:
        """Append a token, and see whether the answer is complete."""
        self.tokens.append(token)
        self.logprob += logprob
        if token in self.ends:
            self.done = True
            return
        if self.request.max_lines is not None:
            self.done = end_of_lines(self._text(tokenizer), self.request.max_lines) is not None
        if not self.done and len(self.tokens) >= self.request.max_new_tokens:
            self.done, self.finish_reason = True, "length"

    def _text(self, tokenizer: Any) -> str:
        # Always the whole answer: a character may take several tokens, and spaces depend on what
        # came before.
        drawn = [token for token in self.tokens if token not in self.ends]
        pieces = [self.beginning]
        for is_tag, run in groupby(drawn, self.tags.__contains__):
            tokens = list(run)
            pieces += (
                [self.tags[token] for token in tokens]
                if is_tag
                else [
                    tokenizer.decode(
                        tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False
                    )
                ]
            )
        return "".join(pieces)

    def answer(self, tokenizer: Any) -> Answer:
        """Return the answer as it stands."""
        text = first_lines(self._text(tokenizer), self.request.max_lines)
        return Answer(text, self.logprob, len(self.tokens), self.finish_reason)


def draw_tokens(logits: torch.Tensor, rows: list[Row]) -> tuple[list[int], list[float]]:
    """Draw a token per row, each at its own temperature and from its own uniform number."""
    # In double precision a draw is the same whatever the order of summation was.
    scores = logits.double()
    tokens = scores.argmax(-1)
    if any(row.request.temperature > 0 for row in rows):
        temperature = scores.new_tensor([row.request.temperature for row in rows])
        uniform = scores.new_tensor([next(row.uniforms) for row in rows])
        # Rows at temperature 0 take the greedy token below; the clamp keeps theirs finite.
        cumulative = (scores / temperature.clamp(min=1e-6)[:, None]).softmax(-1).cumsum(-1)
        # The last sum is 1 up to rounding; scaled to it, no uniform number lies beyond the last
        # token. A uniform number on a step belongs to the token after it, which has mass.
        level = (uniform * cumulative[:, -1])[:, None]
        drawn = torch.searchsorted(cumulative, level, right=True).squeeze(-1)
        tokens = torch.where(temperature > 0, drawn.clamp(max=scores.shape[-1] - 1), tokens)
    logprobs = scores.log_softmax(-1).gather(-1, tokens[:, None]).squeeze(-1)
    require_numbers(logprobs)
    return tokens.tolist(), logprobs.tolist()


def generate_batch(
    network: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    rows: list[Row],
    reading_at: Callable[[int], ReadingMode],
) -> list[Answer]:
    """Draw the answers of a batch, which is read as is right up to a length."""
    length = max(map(len, prompts))
    limit = max(
        len(text) + row.request.max_new_tokens for text, row in zip(prompts, rows, strict=True)
    )
    reach = min(length + _FIRST_REACH, limit)
    reading = reading_at(reach)
    read = TextsRead(network, prompts, reading)
    active = list(range(len(rows)))
    while True:
        tokens, logprobs = draw_tokens(read.logits, [rows[i] for i in active])
        for i, token, logprob in zip(active, tokens, logprobs, strict=True):
            rows[i].add(token, logprob, tokenizer)
        # Rows that are done leave the batch, so that one long answer does not hold the others'
        # memory and time.
        keep = [k for k, i in enumerate(active) if not rows[i].done]
        if not keep:
            return [row.answer(tokenizer) for row in rows]
        n_before, active = len(active), [active[k] for k in keep]
        length += 1
        before = reading
        if length > reach:
            reach = min(2 * reach, limit)
            reading = reading_at(reach)
        if reading == before and reading.batched:
            if len(keep) < n_before:
                read.keep(keep)
            read.step([tokens[k] for k in keep])
        else:  # every text is read from its beginning, from here on otherwise or by itself
            texts = [[*prompts[i], *rows[i].tokens] for i in active]
            read = TextsRead(network, texts, reading)


logger = logging.getLogger(__name__)

# Most tokens behind the longest prompt at whose length the reading is compared first.
_FIRST_REACH = 256
_LONGEST_TAG = 24  # tokens of a tag that opens a thinking
_MANY_SEQUENCES = 10_000  # of tokens after one text: tens of times those of a public model
_MOST_GROWN = 1000  # tokens that a tree of spellings usually grows by, at most


# Work in portions that fit into memory: accelerate's `find_executable_batch_size` begins anew after
# a failure, forgets what it learnt with the next call, and collects garbage before each.
Result = TypeVar("Result")
# On a processor larger portions gain nothing; on an accelerator the size doubles from here until
# memory says no.
_START, _MOST = 16_384, 1 << 22
# What larger portions of texts compute on the way is too large for a processor's allocator to keep,
# and the system clears its pages anew for every layer.
_READ_ON_PROCESSOR = 4096


class Portions:
    """The size of a portion of work, learnt from what happened so far.

    None rows leave it to memory. Portions that may grow do so while memory suffices.
    """

    def __init__(self, most_rows: int | None, *, grows: bool) -> None:
        if most_rows is not None and most_rows < 1:
            raise InputError(f"batch_size must be positive or None; received {most_rows}.")
        self.most_rows, self.grows = most_rows, grows
        self.cells = _START
        """Tokens in a portion, padding included."""

    def results(
        self,
        sizes: Sequence[int],
        do: Callable[[list[int]], Sequence[Result]],
        *,
        order: Sequence[int] | None = None,
    ) -> list[Result]:
        """Return the result of every item, worked out portion by portion without gradients.

        The largest come first, or in `order` if their neighbours belong together.
        """
        results: dict[int, Result] = {}
        left = sorted(range(len(sizes)), key=lambda i: -sizes[i]) if order is None else list(order)
        while left:
            width = max(1, sizes[left[0]] if order is None else max(sizes[i] for i in left))
            processor = order is not None and not self.grows
            cells = min(self.cells, _READ_ON_PROCESSOR) if processor else self.cells
            rows = left[: min(max(1, cells // width), self.most_rows or len(left))]
            try:
                with torch.inference_mode():
                    results.update(zip(rows, do(rows), strict=True))
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
            else:
                left = left[len(rows) :]
                # Only a portion that used most of the size says that a larger one may fit.
                if self.grows and len(rows) * width > self.cells // 2:
                    self.cells = min(2 * self.cells, _MOST)
                continue
            # Outside the handler, where the failed call's tensors are no longer referred to.
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            if len(rows) == 1:
                raise CoherenceError(
                    f"memory does not suffice for a single text of {width} tokens. "
                    "Use a smaller model, dtype or text."
                )
            # From here on no portion is larger than half of what failed.
            self.grows, self.cells = False, max(1, len(rows) * width // 2)
        return [results[i] for i in range(len(sizes))]


def load_causal_model(
    model: str | os.PathLike[str],
    *,
    revision: str | None = None,
    batch_size: int | None = None,
    chat: bool | None = None,
    system: str | None = None,
    prefill: str = "",
    dtype: str = "auto",
    device: str = "auto",
    device_map: str | Mapping[str, Any] | None = None,
) -> "CausalModel":
    """Load a causal language model and its tokenizer.

    Parameters
    ----------
    model : path-like
        A folder as written by ``save_pretrained`` (config.json, safetensors weights, tokenizer
        files), a .gguf file, or OWNER/NAME of a model on the hub.
    revision : str or None
        Branch, tag or commit of a model on the hub; None takes its main branch.
    batch_size : int or None
        Most texts per forward pass, positive; None leaves it to memory. Where memory does not
        suffice a batch is halved in either case.
    chat : bool or None
        Whether to wrap texts in the tokenizer's chat template; None does so where there is one.
    system : str or None
        System message before every text; needs a chat template that has room for one.
    prefill : str
        What every answer begins with, as if the model had said it.
    dtype : {"auto", "float32", "bfloat16", "float16"}
        Precision; "auto" is bfloat16 on an accelerator that has it, else float32.
    device, device_map : str or Mapping
        A torch device, "auto" for the first CUDA device if there is one; or what transformers takes
        to spread a model over devices.

    Returns
    -------
    CausalModel
        Ready to answer.

    Raises
    ------
    InputError
        The model is missing or incomplete, or an option is outside its range.

    Examples
    --------
    >>> import tempfile
    >>> from elicitation.training.organisms import make_untrained_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_causal_model(make_untrained_model(f"{folder}/blank")).name
    'blank'
    """
    source = find_source(model, revision=revision)
    network, tokenizer, dtype = load_network(
        source,
        AutoModelForCausalLM,
        dtype=dtype,
        device=device,
        device_map=device_map,
        as_what="causal language model",
        remedy="Use a complete copy of the model.",
        padding_side="left",
    )
    if chat and tokenizer.chat_template is None:
        raise InputError(
            f"chat=True needs a chat template, and the tokenizer of {source.label} has none. "
            "Leave chat out."
        )
    with_chat = tokenizer.chat_template is not None if chat is None else chat
    loaded = CausalModel(
        network,
        tokenizer,
        name=source.name,
        fingerprint="",
        batch_size=batch_size,
        chat=with_chat,
        system=system,
        prefill=prefill,
    )
    if loaded.facts.is_dated:
        logger.warning(
            "the chat template of %s writes the date; every question is asked as on %s, so that "
            "answers do not depend on the day",
            source.name,
            f"{DAY:%d %b %Y}",
        )
    settings = f"{json.dumps([system, prefill])}{loaded.facts.settings}{UNQUANTISED}"
    loaded.fingerprint = source.fingerprint(f"dtype={dtype};chat={with_chat};{settings}")
    loaded.check()
    return loaded


class CausalModel(Prompting, ReadsForms):
    """A causal language model that answers batches of texts.

    Parameters
    ----------
    network : transformers.PreTrainedModel
        In evaluation mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        Its tokenizer; an end token is needed for answers that end by themselves.
    name, fingerprint : str
        See `Model`.
    batch_size, chat, system, prefill
        As of `load_causal_model`; `system` with `chat` only.
    reading : ReadingMode, NetworkReading or None
        How texts are read such that the numbers are right; None compares.
    """

    def __init__(
        self,
        network: Any,
        tokenizer: Any,
        *,
        name: str,
        fingerprint: str,
        batch_size: int | None = None,
        chat: bool = False,
        system: str | None = None,
        prefill: str = "",
        reading: ReadingMode | NetworkReading | None = None,
    ) -> None:
        super().__init__(tokenizer, name=name, chat=chat, system=system, prefill=prefill)
        self.network, self.fingerprint = network, fingerprint
        self._reading = reading or NetworkReading(network, name)
        self._is_slow, self._context = False, context_size(network)
        self._graphs: dict[tuple[Spelling, ...], SpellingGraph] = {}
        # One size for all that this model does: what memory allows is learnt once.
        self.portions = Portions(batch_size, grows=network.device.type != "cpu")
        # The generation settings may name several end tokens, such as the end of a turn.
        ends = getattr(network.generation_config, "eos_token_id", None)
        ends = tokenizer.eos_token_id if ends is None else ends
        self._ends = frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])
        if system and not chat:
            raise InputError(
                "system needs a chat template, and texts go without one. "
                "Put the message into the texts, or use a chat model."
            )
        # Some templates drop a system message without a word.
        if system and system.strip() not in self.render("text"):
            raise InputError(
                f"the chat template of {name} leaves out the system message. Put it into the texts."
            )

    def in_chat(self) -> "CausalModel":
        """Return the same model with its chat template, for questions; itself without one."""
        if self.chat or self.tokenizer.chat_template is None:
            return self
        model = CausalModel(
            self.network,
            self.tokenizer,
            name=self.name,
            fingerprint="",
            chat=True,
            reading=self._reading,
        )
        if model.facts.thinking:
            raise InputError(
                f"the chat template of {self.name} opens its thinking, and answers to questions "
                "would be read inside of it. Leave the questions out by --only-revealed."
            )
        model.fingerprint = f"{self.fingerprint} in its chat template{model.facts.settings}"
        return model

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer every request; texts of similar length share a batch, for speed alone.

        A text begins with `prefill`. Raises `InputError` where a text and its answer do not fit
        into the model's context, `CoherenceError` where memory does not suffice for a single text.
        """
        require_requests(requests)
        prompts = self.encode([request.text for request in requests])
        n_new = [request.max_new_tokens for request in requests]
        # All are checked before the first is answered, so that no work is lost.
        self._require_room(prompts, n_new, "{} for its answer")
        sizes = [len(prompt) + n for prompt, n in zip(prompts, n_new, strict=True)]

        # A chat model ends its answers itself; cut at its lines one would lose what corrects it.
        asked = [replace(one, max_lines=None) for one in requests] if self.chat else requests

        # An answer that begins inside a thinking has its opening, so that it is not read before it
        # closes it; both end the prompt.
        beginning = max(self.facts.thinking, self.prefill, key=len)

        def answer(portion: list[int]) -> list[Answer]:
            # Made anew for each attempt: a portion that ran out of memory has drawn already.
            rows = [Row(asked[i], self._ends, beginning, self.facts.tags) for i in portion]
            texts = [prompts[i] for i in portion]
            return generate_batch(self.network, self.tokenizer, texts, rows, self.reading_at)

        return self.portions.results(sizes, answer)

    def log_probabilities(
        self, texts: Sequence[Sequence[int]], continuations: Sequence[Sequence[Sequence[int]]]
    ) -> list[Floats]:
        """Return the natural log-probabilities, at temperature 1, of token sequences after texts.

        `texts` are token ids as from `encode`, and `continuations` those of each text; the result
        has an array for every text. A text is read once, and so is every beginning that several of
        its continuations share. Raises `InputError` for unequal lengths, where a text and its
        continuation do not fit into the model's context, or where the prompt opens the model's
        thinking.
        """
        # Zipped in silence, texts would get the continuations of others.
        if len(texts) != len(continuations):
            raise InputError(
                "continuations must have one entry per text; "
                f"received {len(continuations)} for {len(texts)} texts."
            )
        lengths = [[len(ending) for ending in endings] for endings in continuations]
        n_more = [max(listed, default=0) for listed in lengths]
        self._require_room(texts, n_more, "a continuation of {}")
        self._require_answers(texts)
        self._require_tokens([each for listed in continuations for each in listed if len(each)])
        # As if no beginning were shared: an upper bound of what the tree takes.
        sizes = [len(text) + sum(listed) for text, listed in zip(texts, lengths, strict=True)]

        def score(portion: list[int]) -> list[Floats]:
            trees = self._trees([texts[i] for i in portion], max(n_more[i] for i in portion))
            return continuation_logprobs(trees, [continuations[i] for i in portion])

        return self.portions.results(sizes, score)

    def spelling_masses(
        self,
        texts: Sequence[Sequence[int]],
        spellings: Sequence[Spelling],
        *,
        tolerance: float,
        tolerance_for: Callable[[Floats], float] | None = None,
        alike_share: float = 0.0,
    ) -> SpellingMasses:
        """Return the probabilities of spellings after texts; see `ReadsForms`."""
        graph = self._graph(tuple(spellings))
        # In bytes, of which every token has one at least.
        longest = max(map(len, graph.states))
        self._require_room(texts, [longest] * len(texts), "{} for the longest spelling")
        self._require_answers(texts)
        began = time.monotonic()

        def grown(n_nodes: int) -> None:
            if n_nodes > _MANY_SEQUENCES:
                self._say_slow(
                    "spreads its answers over many token sequences: reading more than "
                    f"{_MANY_SEQUENCES:,} of them after one text took "
                    f"{duration(time.monotonic() - began)} so far. --answers drawn reads none"
                )

        def measure(portion: list[int]) -> list[tuple[Floats, float]]:
            start = time.monotonic()
            trees = self._trees([texts[i] for i in portion], longest)
            if isinstance(trees, PlainTrees):
                n_nodes = min(len(graph.states), _MOST_GROWN)
                seconds = (time.monotonic() - start) / len(portion) * n_nodes
                n_tokens = max(len(texts[i]) for i in portion)
                window = trees.reading.window or 0
                exceeds = window and n_tokens + longest >= window
                why = f", which with its answer exceeds its window of {window}," if exceeds else ""
                self._say_slow(
                    f"reads a text of {counted(n_tokens, 'token')}{why} in full for every token "
                    f"that may follow: an exact answer takes about {duration(seconds)}"
                )
            masses, unresolved = spelling_masses(
                trees,
                graph,
                self.vocabulary.order,
                n_spellings=len(spellings),
                tolerance=tolerance,
                tolerance_for=tolerance_for,
                alike_share=alike_share,
                grown=grown,
            )
            return list(zip(masses, unresolved.tolist(), strict=True))

        # Of thousands of states few are reached with a probability that counts.
        sizes = [len(text) + min(len(graph.states), _MOST_GROWN) for text in texts]
        measured = self.portions.results(sizes, measure, order=reading_order(texts))
        masses, unresolved = zip(*measured, strict=True)
        return SpellingMasses(np.stack(masses), np.array(unresolved))

    def _say_slow(self, why: str) -> None:
        """Log once why exact answers take long."""
        if not self._is_slow:
            logger.warning("%s %s", self.name, why)
        self._is_slow = True

    def _require_answers(self, texts: Sequence[Sequence[int]]) -> None:
        """Refuse to take what the model says inside its thinking for its answer."""
        facts = self.facts
        if not facts.thinking:  # a prompt of the user's own may open one as well as a template
            ends = {tuple(text[-_LONGEST_TAG:]) for text in texts}
            opened = (open_at_end(self.tokenizer.decode(list(end))) for end in ends)
            facts = replace(facts, thinking=next(filter(None, opened), ""))
        if facts.thinking:
            raise InputError(
                f"the prompt of {self.name} opens its thinking ({facts.thinking.split()[0]}), and "
                f"probabilities of answers would be read inside of it. End it by {facts.remedy} "
                "(prefill), or have answers drawn, which are read behind the thinking."
            )

    def _require_room(
        self, texts: Sequence[Sequence[int]], n_more: Sequence[int], what: str
    ) -> None:
        """Refuse tokens that the network lacks, and texts that with so many more do not fit."""
        self._require_tokens(texts)
        for text, n in zip(texts, n_more, strict=True):
            if self._context is not None and len(text) + n > self._context:
                raise InputError(
                    f"a text of {len(text)} tokens with {what.format(n)} exceeds the model's "
                    f"context of {self._context} tokens. Use shorter texts or a smaller "
                    "max_new_tokens."
                )

    def _require_tokens(self, texts: Sequence[Sequence[int]]) -> None:
        """Refuse what the network has no embedding of; torch counts a negative id from the end."""
        size = self.network.get_input_embeddings().weight.shape[0]
        for text in texts:
            if not len(text) or min(text) < 0 or max(text) >= size:
                wrong = [token for token in text if not 0 <= token < size]
                raise InputError(
                    f"every text must have tokens from 0 to {size - 1}, which are those of the "
                    f"network of {self.name}; received {(wrong or list(text))[:3]}. "
                    "Use the tokenizer that belongs to the network."
                )

    def _graph(self, spellings: tuple[Spelling, ...]) -> SpellingGraph:
        # A session asks for few forms many times.
        if spellings not in self._graphs:
            self._graphs[spellings] = spelling_graph(spellings, self.vocabulary)
        return self._graphs[spellings]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens as byte strings."""
        # As many ids as the network can draw: the tokenizer may know fewer.
        output = self.network.get_output_embeddings()
        return Vocabulary.of(self.tokenizer, output.weight.shape[0])

    def _trees(self, texts: Sequence[Sequence[int]], n_more: int) -> Trees:
        """Return the fastest trees that give right numbers, growing by so many tokens at most."""
        reading = self.reading_at(max(map(len, texts)) + n_more)
        kind = MaskedTrees if reading.takes_trees else PlainTrees
        return kind(self.network, texts, reading=reading)

    def reading_at(self, n_tokens: int) -> ReadingMode:
        """Return how texts of so many tokens at most are read such that the numbers are right."""
        found = self._reading
        return found if isinstance(found, ReadingMode) else found.at(n_tokens)

    def check(self) -> None:
        """Look at the model once, before anything is asked.

        Raises `InputError` where it gives no probabilities of continuations.
        """
        if isinstance(self._reading, NetworkReading):
            self._reading.check()
