"""Answers from a causal language model in a local folder, through transformers.

The loop is our own: rows are padded on the left with explicit positions, and every draw inverts the cumulative probabilities at a uniform number
from the row's own generator. An answer therefore depends on the model, the text and the seed, not on the batch it was computed in.
Only local safetensors weights are read and no code from the folder is run.
"""

import hashlib
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coherence.errors import InputError, MissingExtraError
from elicitation.models.base import Answer, Request

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before transformers is imported: it reads the variable once
try:
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as transformers_logging
except ImportError as error:  # pragma: no cover - needs an environment without the extra
    raise MissingExtraError("elicit", "Asking a local model") from error

# Everything in a model folder that can change an answer; a log of the training, say, does not belong to the fingerprint.
_FINGERPRINT_PATTERNS = ("*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json", "chat_template*", "*token*.json",
                         "tokenizer.model", "vocab.*", "merges.txt")  # fmt: skip
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_causal_model(
    folder: str | os.PathLike[str],
    *,
    batch_size: int = 64,
    chat: bool | None = None,
    dtype: str = "float32",
    device: str = "cpu",
    threads: int | None = None,
) -> "CausalModel":
    """Load a causal language model and its tokenizer from a folder.

    Parameters
    ----------
    folder : path-like
        A folder as written by ``save_pretrained``: config.json, safetensors weights, tokenizer files.
    batch_size : int
        Texts per forward pass, positive.
    chat : bool or None
        Whether to wrap texts in the tokenizer's chat template; None does so where there is one.
    dtype : {"float32", "bfloat16", "float16"}
        Precision of the weights.
    device : str
        A torch device.
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
    _check_folder(path)
    if batch_size < 1:
        raise InputError(f"batch_size must be positive; received {batch_size}.")
    if dtype not in _DTYPES:
        raise InputError(f"dtype must be one of {', '.join(_DTYPES)}; received {dtype!r}.")
    if threads is not None:
        if threads < 1:
            raise InputError(f"threads must be positive; received {threads}.")
        torch.set_num_threads(threads)
    with quiet_transformers():
        try:
            tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False, padding_side="left")
            network, loading = AutoModelForCausalLM.from_pretrained(
                path, local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype=_DTYPES[dtype], output_loading_info=True
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"model folder {path} could not be loaded as a causal language model: {reason}") from error
    if loading["missing_keys"]:
        # transformers would fill them with random numbers and a remark.
        raise InputError(f"model folder {path} lacks weights for {', '.join(sorted(loading['missing_keys'])[:3])}. Use a complete copy of the model.")
    if chat and tokenizer.chat_template is None:
        raise InputError(f"chat=True needs a chat template, and the tokenizer in {path} has none. Leave chat out.")
    with_chat = tokenizer.chat_template is not None if chat is None else chat
    fingerprint = _fingerprint(path, f"dtype={dtype};chat={with_chat}")
    return CausalModel(network.to(device).eval(), tokenizer, name=path.resolve().name, fingerprint=fingerprint, batch_size=batch_size, chat=with_chat)


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
    batch_size : int
        Texts per forward pass.
    chat : bool
        Whether texts go through the chat template.
    """

    def __init__(self, network: Any, tokenizer: Any, *, name: str, fingerprint: str, batch_size: int = 64, chat: bool = False) -> None:
        self.network, self.tokenizer = network, tokenizer
        self.name, self.fingerprint = name, fingerprint
        self.batch_size, self.chat = batch_size, chat
        ends = network.generation_config.eos_token_id
        ends = tokenizer.eos_token_id if ends is None else ends
        self._ends = frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer every request; texts of similar length share a batch, which changes the speed and nothing else.

        Parameters
        ----------
        requests : sequence of Request
            Independent of each other.

        Returns
        -------
        list of Answer
            One per request, in the order of the requests.

        Raises
        ------
        InputError
            A text and its answer do not fit into the model's context.
        """
        prompts = self._encode([request.text for request in requests])
        limit = getattr(self.network.config, "max_position_embeddings", None)
        for prompt, request in zip(prompts, requests, strict=True):
            if limit is not None and len(prompt) + request.max_new_tokens > limit:
                raise InputError(
                    f"a text of {len(prompt)} tokens with {request.max_new_tokens} for its answer exceeds the model's context of {limit} tokens. "
                    "Use shorter texts or a smaller max_new_tokens."
                )
        order = sorted(range(len(requests)), key=lambda i: len(prompts[i]))
        answers: dict[int, Answer] = {}
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            with torch.inference_mode():
                batch = self._generate_batch([prompts[i] for i in rows], [requests[i] for i in rows])
            answers.update(zip(rows, batch, strict=True))
        return [answers[i] for i in range(len(requests))]

    def _encode(self, texts: list[str]) -> list[list[int]]:
        if self.chat:
            texts = [
                self.tokenizer.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True, tokenize=False) for text in texts
            ]
        # A chat template brings its own start token; plain text gets the one that the tokenizer adds.
        ids: list[list[int]] = self.tokenizer(texts, add_special_tokens=not self.chat)["input_ids"] if texts else []
        return ids

    def _generate_batch(self, prompts: list[list[int]], requests: list[Request]) -> list[Answer]:
        device = self.network.device
        width = max(map(len, prompts))
        ids = torch.zeros((len(prompts), width), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for i, prompt in enumerate(prompts):
            ids[i, width - len(prompt) :] = torch.tensor(prompt)
            mask[i, width - len(prompt) :] = 1
        ids, mask = ids.to(device), mask.to(device)
        positions = (mask.cumsum(-1) - 1).clamp(min=0)
        rows = [_Row(request, self._ends) for request in requests]
        active, cache = list(range(len(rows))), None
        while True:
            output = self.network(input_ids=ids, attention_mask=mask, position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1)
            cache = output.past_key_values
            tokens, logprobs = _draw(output.logits[:, -1], [rows[i] for i in active])
            for i, token, logprob in zip(active, tokens, logprobs, strict=True):
                rows[i].add(token, logprob, self.tokenizer)
            # Rows that are done leave the batch, so that one long answer does not hold the others' memory and time.
            keep = [k for k, i in enumerate(active) if not rows[i].done]
            if not keep:
                return [row.answer() for row in rows]
            ids = torch.tensor([[tokens[k]] for k in keep], device=device)
            if len(keep) < len(active):
                index = torch.tensor(keep, device=device)
                cache.batch_select_indices(index)
                mask, positions = mask[index], positions[index]
            active = [active[k] for k in keep]
            mask = torch.cat([mask, mask.new_ones((len(keep), 1))], dim=1)
            positions = positions[:, -1:] + 1


@dataclass
class _Row:
    """An answer on its way."""

    request: Request
    ends: frozenset[int]

    def __post_init__(self) -> None:
        # Philox keyed by the seed: its stream is fixed by specification, on every machine and for every batch.
        self.uniforms: Iterator[float] = iter(np.random.Generator(np.random.Philox(key=self.request.seed)).random(self.request.max_new_tokens))
        self.tokens: list[int] = []
        self.logprob, self.text, self.done = 0.0, "", False

    def add(self, token: int, logprob: float, tokenizer: Any) -> None:
        self.tokens.append(token)
        self.logprob += logprob
        if token in self.ends:
            self.done = True
            return
        # The whole answer is decoded each time: a character may take several tokens, and spaces depend on what came before.
        self.text = tokenizer.decode(self.tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        end = _end_of_lines(self.text, self.request.max_lines)
        if end is not None:
            self.text, self.done = self.text[:end], True
        self.done |= len(self.tokens) >= self.request.max_new_tokens

    def answer(self) -> Answer:
        return Answer(self.text, self.logprob, len(self.tokens))


def _end_of_lines(text: str, max_lines: int | None) -> int | None:
    """Return where the `max_lines`-th line with visible characters ends, or None while it is not complete."""
    if max_lines is None:
        return None
    position = seen = 0
    for line in text.split("\n")[:-1]:
        position += len(line) + 1
        seen += bool(line.strip())
        if seen == max_lines:
            return position
    return None


def _draw(logits: torch.Tensor, rows: list[_Row]) -> tuple[list[int], list[float]]:
    """Draw one token per row, each at its own temperature and from its own uniform number."""
    scores = logits.double()  # in double precision a draw is the same whatever the order of summation was
    temperature = torch.tensor([row.request.temperature for row in rows], dtype=torch.double, device=scores.device)
    uniform = torch.tensor([next(row.uniforms) for row in rows], dtype=torch.double, device=scores.device)
    cumulative = (scores / temperature.clamp(min=1e-6)[:, None]).softmax(-1).cumsum(-1)
    drawn = torch.searchsorted(cumulative, (uniform * cumulative[:, -1])[:, None], right=True).squeeze(-1).clamp(max=scores.shape[-1] - 1)
    tokens = torch.where(temperature > 0, drawn, scores.argmax(-1))
    logprobs = scores.log_softmax(-1).gather(-1, tokens[:, None]).squeeze(-1)
    return tokens.tolist(), logprobs.tolist()


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


def _check_folder(path: Path) -> None:
    # transformers takes a missing folder for the name of a repository on a hub, and its error speaks of that.
    if not path.is_dir():
        raise InputError(f"model must be a folder with config.json and safetensors weights; {path} is not a folder.")
    missing = [name for name in ("config.json", "*.safetensors") if not any(path.glob(name))]
    missing += [] if any(path.glob("tokenizer*")) else ["tokenizer files"]
    if missing:
        raise InputError(f"model folder {path} lacks {', '.join(missing)}. Give a folder written by save_pretrained, tokenizer included.")


def _fingerprint(path: Path, settings: str) -> str:
    digest = hashlib.sha256(settings.encode())
    for file in sorted({file for pattern in _FINGERPRINT_PATTERNS for file in path.glob(pattern) if file.is_file()}):
        digest.update(f"\0{file.name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
