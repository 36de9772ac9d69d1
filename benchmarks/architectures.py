"""Read a tiny random network of every architecture that transformers has; print a Markdown table.

    python benchmarks/architectures.py --out benchmarks/architectures.md [--only gpt_neo --only mpt]

Every network is saved to a folder and loaded as a user loads a model. Texts that share a beginning,
of more tokens than its windows have, are scored with continuations of unequal length and answered
greedily; both are compared with unpadded passes without a cache. A masked network is also read as
the decoder that its configuration can make of it. Ends with status 1 where a number
is wrong or an error is not this package's own.
"""

import argparse
import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig, PreTrainedTokenizerFast

from coherence.errors import CoherenceError
from elicitation.models.base import Request
from elicitation.models.local.causal import CausalModel, load_causal_model
from elicitation.models.local.forward import plain_logits
from elicitation.models.local.loading import quiet_transformers
from elicitation.models.local.self_check import rounding, tiny_twin

# Beyond the texts of the look at loading, within those that are compared here.
WINDOW, COMMON, TAILS, NEW_TOKENS = 40, 30, (4, 37), 8
MOST, ROUNDINGS = 1e-3, 30
RIGHT, IN_FULL, ALONE = "right", "right, every sequence in full", "right, slower and said"
REFUSED, NOT_MADE = "refused in one line", "no tiny network of its default configuration"
WRONG, RAW = "WRONG", "RAW ERROR"


def architectures(only: list[str]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the class and the kind of configuration of every architecture."""
    seen = set()
    for config_kind, kinds in MODEL_FOR_CAUSAL_LM_MAPPING.items():
        name = config_kind.model_type
        if name not in seen and (not only or name in only):
            seen.add(name)
            yield name, kinds[0] if isinstance(kinds, tuple) else kinds, config_kind


def tokenizer(size: int) -> PreTrainedTokenizerFast:
    """Return a tokenizer with a word per token."""
    words = Tokenizer(models.WordLevel({f"w{k}": k for k in range(size)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="w0")


def read(kind: Any, config_kind: Any, folder: Path, **options: Any) -> tuple[str, float, str]:
    """Return the verdict on an architecture, the largest difference, and what was said."""
    torch.manual_seed(1)
    with quiet_transformers():
        try:
            network = tiny_twin(kind, config_kind(**options), window=WINDOW)
        except Exception:  # some have no default that is a network
            network = None
        if network is None:
            return NOT_MADE, np.nan, ""
        network.save_pretrained(folder)
        try:  # some settings by layer do not survive that there are fewer layers
            AutoConfig.from_pretrained(folder)
        except Exception:
            return NOT_MADE, np.nan, ""
        tokenizer(network.get_input_embeddings().num_embeddings).save_pretrained(folder)
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("elicitation")
    logger.addHandler(handler)
    try:
        model = load_causal_model(folder, device="cpu", dtype="float32")
        # Some types of model take another class of tokenizer, which loses these words.
        model.tokenizer = tokenizer(model.network.get_input_embeddings().num_embeddings)
        gap = difference(model)
    except CoherenceError as error:
        return REFUSED, np.nan, str(error)
    except Exception as error:
        return RAW, np.nan, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    finally:
        logger.removeHandler(handler)
    # Random weights of some classes amplify what rounding moves.
    if not gap < max(MOST, ROUNDINGS * rounding(network)):
        return WRONG, gap, " ".join(said)
    if not model.reading.batched:
        return (ALONE if said else WRONG), gap, " ".join(said)
    return (RIGHT if model.reading.takes_trees else IN_FULL), gap, " ".join(said)


def difference(model: CausalModel) -> float:
    """Return the largest difference to plain passes, answers included."""
    rng = np.random.default_rng(2)
    size = model.network.get_input_embeddings().num_embeddings
    words = range(4, size)
    common = rng.choice(words, COMMON).tolist()
    texts = [[*common, *rng.choice(words, tail).tolist()] for tail in TAILS]
    stems = [rng.choice(words, n).tolist() for n in (1, 2)]
    endings = [[*stem, *rng.choice(words, n).tolist()] for stem in stems for n in (0, 4)]
    scores = model.log_probabilities(texts, [endings] * len(texts))
    plain, gap = Plain(model.network), 0.0
    for text, scored in zip(texts, scores, strict=True):
        for ending, score in zip(endings, scored, strict=True):
            gap = max(gap, abs(score - plain.score(text, ending)))
    prompts = [" ".join(f"w{token}" for token in text) for text in texts]
    answers = model.generate([Request(prompt, 0, NEW_TOKENS, 0.0) for prompt in prompts])
    for text, answer in zip(texts, answers, strict=True):
        gap = max(gap, abs(answer.logprob - plain.greedy(text, answer.n_tokens)))
    return gap


class Plain:
    """What a network says by definition: a pass over all that precedes, no padding, no cache."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.steps: dict[tuple[int, ...], torch.Tensor] = {}

    def next(self, text: list[int]) -> torch.Tensor:
        """Return the log-probabilities of the token after a text."""
        if tuple(text) not in self.steps:
            with torch.inference_mode():
                logits = plain_logits(self.network, text)[-1]
            self.steps[tuple(text)] = logits.double().log_softmax(-1)
        return self.steps[tuple(text)]

    def score(self, text: list[int], ending: list[int]) -> float:
        """Return the log-probability of an ending."""
        return sum(float(self.next([*text, *ending[:k]])[token]) for k, token in enumerate(ending))

    def greedy(self, text: list[int], n_tokens: int) -> float:
        """Return the log-probability of a greedy answer."""
        answer: list[int] = []
        for _ in range(n_tokens):
            answer.append(int(self.next([*text, *answer]).argmax()))
        return self.score(text, answer)


def main() -> int:
    """Read every architecture and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, help="where the table goes (default: the terminal)")
    parser.add_argument("--only", action="append", default=[], help="model type, may be repeated")
    args = parser.parse_args()
    rows, counts = [], Counter[str]()
    for name, kind, config_kind in architectures(args.only):
        # A masked network is read once more, as the decoder that it can be.
        for options in ({}, {"is_decoder": True}):
            begun = time.process_time()
            with tempfile.TemporaryDirectory() as folder:
                verdict, gap, said = read(kind, config_kind, Path(folder), **options)
            counts[verdict] += 1
            said = said.replace(Path(folder).name, "the model").replace("|", "/")
            cells = [name + ", as decoder" * bool(options), verdict, f"{gap:.0e}", said]
            rows.append(f"| {' | '.join(cells).replace('nan', '')} |")
            print(f"{rows[-1]} {time.process_time() - begun:.1f} s", flush=True)
            if verdict != REFUSED or not hasattr(config_kind, "is_decoder"):
                break
    table = [
        "# Architectures, read and compared with plain passes",
        "",
        "Written by `python benchmarks/architectures.py --out benchmarks/architectures.md`, "
        f"transformers {transformers.__version__}, torch {torch.__version__}: "
        + "; ".join(f"{verdict}: {count}" for verdict, count in counts.most_common())
        + ".",
        "",
        "| model type | verdict | largest difference in nats | said |",
        "|---|---|---|---|",
        *rows,
    ]
    if args.out:
        args.out.write_text("\n".join(table) + "\n")
    print(table[2])
    return 1 if counts[WRONG] + counts[RAW] else 0


if __name__ == "__main__":
    raise SystemExit(main())
