"""Answers from a causal language model in a local folder, through transformers.

The loop is our own: rows are padded on the left with explicit positions, and every row draws from
its own generator. An answer therefore depends on the model, the text and the seed, not on the batch
it was computed in. Probabilities of given sequences come without any drawing. Only local
safetensors weights are read and no code from the folder is run.
"""

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from coherence.errors import InputError, MissingExtraError
from elicitation.models.base import Answer, Request
from elicitation.models.local.loading import check_folder, fingerprint_of
from elicitation.spelling.tokenizations import Part, Spelling, SpellingMasses, spelling_graph
from elicitation.spelling.vocabulary import Vocabulary

os.environ.setdefault(
    "HF_HUB_OFFLINE", "1"
)  # before transformers is imported: it reads the variable once
try:
    import torch
    from jinja2 import TemplateError
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as transformers_logging

    from elicitation.models.local.loading import DTYPES, choose_device
    from elicitation.models.local.memory import Portions
    from elicitation.models.local.prefill import prefill
    from elicitation.models.local.sampling import Row, draw
    from elicitation.models.local.scoring import (
        Floats,
        Trees,
        check_fits,
        continuation_logprobs,
        spelling_masses,
        trees_for,
    )
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Asking a local model") from error

MOST_PATHS = 20_000


def load_causal_model(
    folder: str | os.PathLike[str],
    *,
    batch_size: int | None = None,
    chat: bool | None = None,
    system: str | None = None,
    prefill: str = "",
    dtype: str = "auto",
    device: str = "auto",
    threads: int | None = None,
) -> "CausalModel":
    """Load a causal language model and its tokenizer from a folder.

    Parameters
    ----------
    folder : path-like
        A folder as written by ``save_pretrained``: config.json, safetensors weights, tokenizer
        files.
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
        Precision of the weights; "auto" is bfloat16 on an accelerator that has it, else float32.
    device : str
        A torch device; "auto" is the first CUDA device, else the processor.
    threads : int or None
        Threads of torch, for the whole process; None leaves them.

    Returns
    -------
    CausalModel
        Ready to answer.

    Raises
    ------
    InputError
        The folder is missing or incomplete, or an option is outside its range.
    """
    path = Path(folder)
    check_folder(path)
    device, dtype = choose_device(device, dtype)
    if threads is not None:
        if threads < 1:
            raise InputError(f"threads must be positive; received {threads}.")
        torch.set_num_threads(threads)
    with quiet_transformers():
        try:
            tokenizer = AutoTokenizer.from_pretrained(
                path, local_files_only=True, trust_remote_code=False, padding_side="left"
            )
            network, loading = AutoModelForCausalLM.from_pretrained(
                path,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=DTYPES[dtype],
                output_loading_info=True,
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"model folder {path} could not be loaded as a causal language model: {reason}"
            ) from error
    if loading["missing_keys"]:
        # transformers would fill them with random numbers and a remark.
        raise InputError(
            f"model folder {path} lacks weights for {', '.join(sorted(loading['missing_keys'])[:3])}. Use a complete copy of the model."
        )
    if chat and tokenizer.chat_template is None:
        raise InputError(
            f"chat=True needs a chat template, and the tokenizer in {path} has none. Leave chat out."
        )
    with_chat = tokenizer.chat_template is not None if chat is None else chat
    # Without a system message and a prefill the digest is what it was before there were any, so
    # that stores keep their answers.
    fingerprint = fingerprint_of(
        path,
        f"dtype={dtype};chat={with_chat}"
        + (f";{json.dumps([system, prefill])}" if system or prefill else ""),
    )
    return CausalModel(
        network.to(device).eval(),
        tokenizer,
        name=path.resolve().name,
        fingerprint=fingerprint,
        batch_size=batch_size,
        chat=with_chat,
        system=system,
        prefill=prefill,
    )


class CausalModel:
    """A causal language model that answers batches of texts.

    Parameters
    ----------
    network : transformers.PreTrainedModel
        In evaluation mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        Its tokenizer; an end token is needed for answers that end by themselves.
    name, fingerprint : str
        See `Model`.
    batch_size : int or None
        Most texts per forward pass; None leaves it to memory.
    chat : bool
        Whether texts go through the chat template.
    system : str or None
        System message, with `chat` only.
    prefill : str
        What every answer begins with.
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
    ) -> None:
        self.network, self.tokenizer = network, tokenizer
        self.name, self.fingerprint = name, fingerprint
        self.portions = Portions(batch_size, grows=network.device.type != "cpu")
        self.chat, self.system, self.prefill = chat, system, prefill
        ends = network.generation_config.eos_token_id
        ends = tokenizer.eos_token_id if ends is None else ends
        self._ends = frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])
        if system and not chat:
            raise InputError(
                "system needs a chat template, and texts go without one. Put the message into the texts, or use a chat model."
            )
        # Some templates drop a system message without a word.
        if system and system.strip() not in self.render("text"):
            raise InputError(
                f"the chat template of {name} leaves out the system message. Put it into the texts."
            )

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer every request; texts of similar length share a batch, which changes the speed and nothing else.

        Parameters
        ----------
        requests : sequence of Request
            Independent of each other.

        Returns
        -------
        list of Answer
            One per request, in the order of the requests; a text begins with `prefill`.

        Raises
        ------
        InputError
            A text and its answer do not fit into the model's context.
        CoherenceError
            Memory does not suffice for a single text.
        """
        prompts = self.encode([request.text for request in requests])
        for prompt, request in zip(prompts, requests, strict=True):
            check_fits(
                self.network,
                len(prompt) + request.max_new_tokens,
                f"a text of {len(prompt)} tokens with {request.max_new_tokens} for its answer",
            )
        answers: dict[int, Answer] = {}

        def do(rows: list[int]) -> None:
            answers.update(
                zip(
                    rows,
                    self._generate_batch([prompts[i] for i in rows], [requests[i] for i in rows]),
                    strict=True,
                )
            )

        with torch.inference_mode():
            self.portions.work(
                [
                    len(prompt) + request.max_new_tokens
                    for prompt, request in zip(prompts, requests, strict=True)
                ],
                do,
            )
        return [answers[i] for i in range(len(requests))]

    def encode(self, texts: Sequence[str], *, answer: str = "") -> list[list[int]]:
        """Return the tokens that precede an answer.

        Parameters
        ----------
        texts : sequence of str
            Questions.
        answer : str
            Beginning of the answer, after `prefill`.

        Returns
        -------
        list of list of int
            Token ids of every question, in the chat template where the model has one, with the
            beginning of the answer.

        Raises
        ------
        InputError
            A text has no token at all.
        """
        # A chat template brings its own start token; plain text gets the one that the tokenizer
        # adds.
        ids: list[list[int]] = (
            self.tokenizer(
                [self.render(text) + answer for text in texts], add_special_tokens=not self.chat
            )["input_ids"]
            if texts
            else []
        )
        for i, tokens in enumerate(ids):
            if not tokens:
                raise InputError(
                    f"every text must have a token; text {i} is {texts[i]!r} and has none. Write something before the answer."
                )
        return ids

    def render(self, text: str) -> str:
        """Return a question as the model reads it, with the beginning of the answer."""
        if not self.chat:
            return text + self.prefill
        messages = [
            *([{"role": "system", "content": self.system}] if self.system else []),
            {"role": "user", "content": text},
        ]
        try:
            rendered: str = self.tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=False
            )
        except TemplateError as error:
            raise InputError(
                f"the chat template of {self.name} refuses {'a system message' if self.system else 'the text'}: {error}"
            ) from error
        # Not through the template: some strip the blank at the end of the prefill, or close the
        # turn.
        return rendered + self.prefill

    def log_probabilities(
        self, texts: Sequence[Sequence[int]], continuations: Sequence[Sequence[Sequence[int]]]
    ) -> list[Floats]:
        """Return the log-probabilities of token sequences after texts.

        A text is read once, and so is every beginning that several of its continuations share.

        Parameters
        ----------
        texts : sequence of sequence of int
            Token ids, as from `encode`.
        continuations : sequence of sequence of sequence of int
            For every text the token ids of its continuations.

        Returns
        -------
        list of ndarray
            For every text one natural logarithm per continuation, at temperature 1.

        Raises
        ------
        InputError
            Unequal lengths, or a text and its continuation do not fit into the model's context.
        """
        if len(texts) != len(continuations):
            raise InputError(
                f"continuations must have one entry per text; received {len(continuations)} for {len(texts)} texts."
            )
        for text, own in zip(texts, continuations, strict=True):
            longest = max(map(len, own), default=0)
            check_fits(
                self.network,
                len(text) + longest,
                f"a text of {len(text)} tokens with a continuation of {longest}",
            )
        results: dict[int, Floats] = {}

        def do(rows: list[int]) -> None:
            trees = self._trees([texts[i] for i in rows])
            results.update(
                zip(
                    rows,
                    continuation_logprobs(trees, [continuations[i] for i in rows]),
                    strict=True,
                )
            )

        with torch.inference_mode():
            self.portions.work(
                [
                    len(text) + sum(map(len, own))
                    for text, own in zip(texts, continuations, strict=True)
                ],
                do,
            )
        return [results[i] for i in range(len(texts))]

    def spelling_masses(
        self,
        texts: Sequence[Sequence[int]],
        spellings: Sequence[Spelling],
        *,
        tolerance: float,
        itemised: bool = False,
    ) -> SpellingMasses:
        """Return the probabilities of spellings after texts; see `ScoringModel`."""
        graph = spelling_graph(spellings, self.vocabulary)
        if (count := graph.count_paths()) > MOST_PATHS and tolerance == 0:
            raise InputError(
                f"the spellings have {count} token sequences, more than {MOST_PATHS}. Set tolerance above 0 to leave out improbable ones."
            )
        longest = max(map(len, graph.states))
        for text in texts:
            check_fits(
                self.network,
                len(text) + longest,
                f"a text of {len(text)} tokens with {longest} for the longest spelling",
            )
        found: dict[int, tuple[Floats, float, list[Part]]] = {}

        def do(rows: list[int]) -> None:
            items: list[Part] | None = [] if itemised else None
            masses, unresolved = spelling_masses(
                self._trees([texts[i] for i in rows]),
                graph,
                self.vocabulary.order,
                n_spellings=len(spellings),
                tolerance=tolerance,
                parts=items,
            )
            for k, i in enumerate(rows):
                found[i] = (
                    masses[k],
                    float(unresolved[k]),
                    [replace(part, text=i) for part in items or () if part.text == k],
                )

        with torch.inference_mode():
            self.portions.work([len(text) + len(graph.states) for text in texts], do)
        done = [found[i] for i in range(len(texts))]
        return SpellingMasses(
            np.stack([masses for masses, *_ in done]),
            np.array([lost for _, lost, _ in done]),
            [part for *_, parts in done for part in parts],
        )

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens as byte strings."""
        output = self.network.get_output_embeddings()
        return Vocabulary.of(self.tokenizer, output.weight.shape[0])

    @cached_property
    def _trees(self) -> Callable[[Sequence[Sequence[int]]], Trees]:
        return partial(trees_for(self.network), self.network)

    def _generate_batch(self, prompts: list[list[int]], requests: list[Request]) -> list[Answer]:
        device = self.network.device
        rows = [Row(request, self._ends, self.prefill) for request in requests]
        start = prefill(self.network, prompts)
        logits, mask, positions, cache = (
            start.logits,
            start.mask,
            start.lengths[:, None],
            start.cache,
        )
        active = list(range(len(rows)))
        while True:
            tokens, logprobs = draw(logits, [rows[i] for i in active])
            for i, token, logprob in zip(active, tokens, logprobs, strict=True):
                rows[i].add(token, logprob, self.tokenizer)
            # Rows that are done leave the batch, so that one long answer does not hold the others'
            # memory and time.
            keep = [k for k, i in enumerate(active) if not rows[i].done]
            if not keep:
                return [row.answer(self.tokenizer) for row in rows]
            ids = torch.tensor([[tokens[k]] for k in keep], device=device)
            if len(keep) < len(active):
                index = torch.tensor(keep, device=device)
                cache.batch_select_indices(index)
                mask, positions = mask[index], positions[index]
            active = [active[k] for k in keep]
            mask = torch.cat([mask, mask.new_ones((len(keep), 1))], dim=1)
            output = self.network(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            logits, positions = output.logits[:, -1], positions + 1


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep transformers from showing bars, remarks and its own deprecations while it loads or saves; what matters is checked and raised."""
    bars = transformers_logging.is_progress_bar_enabled()
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if bars:
            transformers_logging.enable_progress_bar()
