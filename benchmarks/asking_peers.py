"""What `asking.py` compares with: the harness, and transformers by itself."""

from typing import Any

import torch
from transformers import DynamicCache

from elicitation.models.local.loading import quiet_transformers


def harness(network: Any, tokenizer: Any, batch_size: int) -> Any:
    """Return the harness around a network, or None where it is not installed."""
    try:
        import logging

        from lm_eval.models.huggingface import HFLM
    except ImportError:
        return None
    logging.disable(logging.WARNING)
    return HFLM(
        pretrained=network,
        tokenizer=tokenizer,
        backend="causal",
        batch_size=batch_size,
        max_length=1024,
        device="cpu",
    )


def scored_by_harness(
    network: Any, tokenizer: Any, text: list[int], continuations: list[list[int]], batch_size: int
) -> list[float]:
    """Score with the harness, from token ids, so that it spends no time on tokenizing."""
    lm = harness(network, tokenizer, batch_size)
    requests = [(("text", str(k)), text, tokens) for k, tokens in enumerate(continuations)]
    return [float(logprob) for logprob, _ in lm._loglikelihood_tokens(requests, disable_tqdm=True)]


def scored_one_by_one(network: Any, text: list[int], continuations: list[list[int]]) -> list[float]:
    """Score with one forward pass per continuation."""
    scores = []
    with torch.inference_mode():
        for tokens in continuations:
            logits = network(
                torch.tensor([[*text, *tokens[:-1]]]), logits_to_keep=len(tokens)
            ).logits[0]
            scores.append(float(logits.log_softmax(-1)[range(len(tokens)), tokens].sum()))
    return scores


def scored_with_repeated_cache(
    network: Any, text: list[int], continuations: list[list[int]]
) -> list[float]:
    """Score after reading the text once, its cache repeated for every continuation.

    This is what transformers offers for the purpose.
    """
    width = max(map(len, continuations))
    padded = torch.tensor([[*tokens, *[0] * (width - len(tokens))] for tokens in continuations])
    cache = DynamicCache(config=network.config)
    with torch.inference_mode():
        first = network(
            torch.tensor([text]), past_key_values=cache, logits_to_keep=1
        ).logits.log_softmax(-1)
        cache.batch_repeat_interleave(len(continuations))
        later = (
            network(padded[:, :-1], past_key_values=cache).logits.log_softmax(-1)
            if width > 1
            else first.new_zeros(len(continuations), 0, 1)
        )
    return [
        float(first[0, 0, tokens[0]] + later[k, range(len(tokens) - 1), tokens[1:]].sum())
        for k, tokens in enumerate(continuations)
    ]


def answered_one_by_one(network: Any, tokenizer: Any, texts: list[str], n_tokens: int) -> list[str]:
    """Answer every text by itself, the most probable token each time."""
    answers = []
    for text in texts:
        encoded = tokenizer(text, return_tensors="pt")
        with torch.inference_mode(), quiet_transformers():
            whole = network.generate(
                **encoded,
                max_new_tokens=n_tokens,
                do_sample=False,
                pad_token_id=tokenizer.pad_token_id,
            )
        new = whole[0, encoded["input_ids"].shape[1] :]
        answers.append(tokenizer.decode(new, skip_special_tokens=True))
    return answers


def answered_by_harness(
    network: Any, tokenizer: Any, texts: list[str], n_tokens: int, batch_size: int
) -> list[str]:
    """Answer with the harness, the most probable token each time."""
    from lm_eval.api.instance import Instance

    options = {"until": [tokenizer.eos_token], "max_gen_toks": n_tokens, "do_sample": False}
    requests = [
        Instance("generate_until", {}, (text, dict(options)), k) for k, text in enumerate(texts)
    ]
    with quiet_transformers():
        lm = harness(network, tokenizer, batch_size)
        answers: list[str] = lm.generate_until(requests, disable_tqdm=True)
    return answers
