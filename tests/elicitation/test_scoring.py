"""Log-probabilities of token sequences: breaks if sharing, batching, memory or the kind of network changes a number, or if nothing is shared."""

import numpy as np
import pytest
import torch
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
)

from coherence.errors import CoherenceError, InputError
from elicitation.models.base import Request
from elicitation.models.local import scoring
from elicitation.models.local.causal import CausalModel, load_causal_model
from elicitation.models.local.loading import choose_device
from elicitation.models.local.memory import Portions, is_out_of_memory
from elicitation.models.local.prefill import prefill
from elicitation.models.local.scoring import (
    MaskedTrees,
    PlainTrees,
    continuation_logprobs,
    trees_for,
)
from elicitation.reading.outcomes import outcome_probabilities

SIZE = 50
LLAMA = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
}


def network_of(kind):
    torch.manual_seed(1)
    network = {
        "llama": lambda: LlamaForCausalLM(
            LlamaConfig(vocab_size=SIZE, num_key_value_heads=2, **LLAMA)
        ),
        "gpt2": lambda: GPT2LMHeadModel(
            GPT2Config(
                vocab_size=SIZE,
                n_embd=32,
                n_layer=2,
                n_head=4,
                n_positions=128,
                bos_token_id=1,
                eos_token_id=2,
            )
        ),
        "mistral": lambda: MistralForCausalLM(
            MistralConfig(vocab_size=SIZE, num_key_value_heads=2, sliding_window=4, **LLAMA)
        ),
        "bloom": lambda: BloomForCausalLM(
            BloomConfig(
                vocab_size=SIZE, hidden_size=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2
            )
        ),
    }[kind]()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(4)
    return network.eval()


def model_of(network, tokenizer, **options):
    return CausalModel(network, tokenizer, name="tiny", fingerprint="f", **options)


def one_by_one(network, texts, continuations):
    """The definition: one forward pass per continuation, no padding, no cache."""
    results = []
    for text, own in zip(texts, continuations, strict=True):
        values = []
        for tokens in own:
            with torch.inference_mode():
                logprobs = (
                    network(torch.tensor([[*text, *tokens]])).logits[0].double().log_softmax(-1)
                )
            values.append(
                sum(float(logprobs[len(text) - 1 + k, token]) for k, token in enumerate(tokens))
            )
        results.append(np.array(values))
    return results


@pytest.fixture(scope="module")
def requests():
    """Texts of very different length, two of them with a long beginning in common; continuations that share beginnings, repeat, or are empty."""
    rng = np.random.default_rng(0)
    start = rng.integers(3, SIZE, 20).tolist()
    texts = [rng.integers(3, SIZE, n).tolist() for n in (1, 9, 30, 4)] + [
        [*start, 7],
        [*start, 8, 9],
    ]
    stems = [rng.integers(3, SIZE, n).tolist() for n in (1, 2, 3)]
    continuations = [
        [stem + rng.integers(3, SIZE, n).tolist() for stem in stems for n in (0, 1, 3)]
        + [stems[2], [], [5]]
        for _ in texts
    ]
    continuations[3] = [[4]]
    return texts, continuations


@pytest.mark.parametrize(
    ("kind", "trees"),
    [("llama", MaskedTrees), ("gpt2", MaskedTrees), ("mistral", PlainTrees), ("bloom", PlainTrees)],
)
@pytest.mark.parametrize("batch_size", [1, 4, None])
def test_scores_equal_one_forward_pass_per_continuation(kind, trees, batch_size, requests):
    texts, continuations = requests
    network = network_of(kind)
    assert trees_for(network) is trees
    found = model_of(network, None, batch_size=batch_size).log_probabilities(texts, continuations)
    for mine, expected in zip(found, one_by_one(network, texts, continuations), strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-4)
    order = np.random.default_rng(5).permutation(len(texts))
    shuffled = model_of(network, None, batch_size=batch_size).log_probabilities(
        [texts[i] for i in order], [continuations[i][::-1] for i in order]
    )
    for place, i in enumerate(order):
        np.testing.assert_allclose(shuffled[place][::-1], found[i], atol=1e-4)


def test_a_tree_in_many_portions_has_the_same_scores(requests, monkeypatch):
    texts, continuations = requests
    network = network_of("gpt2")
    expected = one_by_one(network, texts, continuations)
    monkeypatch.setattr(scoring, "_LOGITS", 3 * SIZE * len(texts))  # three nodes at a time
    with torch.inference_mode():
        found = continuation_logprobs(MaskedTrees(network, texts), continuations)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-4)


class Watched(torch.nn.Module):
    """A network that counts the tokens it reads and runs out of memory above a limit."""

    def __init__(self, network, limit=None, error=None):
        super().__init__()
        self.network, self.limit, self.config, self.generation_config = (
            network,
            limit,
            network.config,
            network.generation_config,
        )
        self.device, self.dtype, self.tokens, self.failures, self.shapes = (
            network.device,
            network.dtype,
            0,
            0,
            [],
        )
        self.error = error or torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")

    def get_input_embeddings(self):
        return self.network.get_input_embeddings()

    def get_output_embeddings(self):
        return self.network.get_output_embeddings()

    def forward(self, input_ids, **options):
        if self.limit is not None and input_ids.numel() > self.limit:
            self.failures += 1
            raise self.error
        self.tokens += input_ids.numel()
        self.shapes.append(tuple(input_ids.shape))
        return self.network(input_ids=input_ids, **options)


def test_what_is_shared_is_read_once(requests):
    text = list(range(3, 23))
    network = Watched(network_of("llama"))
    model = model_of(network, None)
    trees_for(network)
    model.log_probabilities([text], [[[5]]])  # the kind of tree is found out here
    network.tokens, network.shapes = 0, []
    model.log_probabilities([text], [[[5], [6], [7]]])
    assert network.shapes == [(1, 20)]  # single tokens cost the text alone
    network.tokens, network.shapes = 0, []
    model.log_probabilities([text], [[[5, 6, 7], [5, 6, 8], [5, 9], [4]]])
    assert network.shapes == [(1, 20), (1, 2)]  # 5 and 5 6: the last tokens are never read
    network.tokens, network.shapes = 0, []
    with torch.inference_mode():
        prefill(network, [[*text, 5], [*text, 6, 7], [*text, 5]])
    assert network.shapes == [(1, 20), (2, 2)]  # the common beginning, then two distinct ends


OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError(
        "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."
    ),
]


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["accelerator", "processor"])
def test_batches_are_halved_where_memory_does_not_suffice(requests, error, model):
    texts, continuations = requests
    network = network_of("llama")
    expected = model_of(network, None).log_probabilities(texts, continuations)
    watched = Watched(network, limit=70, error=error)
    tight = model_of(watched, None)
    for mine, other in zip(tight.log_probabilities(texts, continuations), expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-4)
    assert 0 < watched.failures < 6
    failures = watched.failures
    tight.log_probabilities(texts, continuations)
    assert watched.failures == failures  # what was learnt is kept
    # Answers too are the same, whatever the batch.
    asked = [
        Request(text, seed, 6)
        for seed, text in enumerate(["Does a patient cough?", "Why?", "Consider a patient."] * 4)
    ]
    small = model_of(Watched(model.network, limit=30, error=error), model.tokenizer)
    assert [answer.text for answer in small.generate(asked)] == [
        answer.text for answer in model.generate(asked)
    ]
    assert small.network.failures > 0


def test_a_text_that_fits_in_no_way_is_named(requests):
    model = model_of(Watched(network_of("llama"), limit=8), None)
    model._trees = lambda texts: MaskedTrees(model.network, texts)
    with pytest.raises(CoherenceError, match="does not suffice for a single text of 50 tokens"):
        model.log_probabilities([list(range(48))], [[[1, 2]]])


def test_other_errors_are_not_taken_for_a_lack_of_memory():
    portions = Portions(None, grows=False)

    def do(rows):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        portions.work([1, 2], do)
    assert not is_out_of_memory(ValueError("out of memory"))


def test_portions_grow_until_memory_says_no_and_no_further():
    portions = Portions(None, grows=True)
    start, seen = portions.cells, []

    def do(rows):
        seen.append(len(rows))
        if len(rows) > 3 * start:
            raise torch.OutOfMemoryError("no")

    portions.work([1] * (12 * start), do)
    assert seen[:3] == [start, 2 * start, 4 * start]
    assert max(seen[3:]) == 2 * start
    assert sum(size for size in seen if size <= 3 * start) == 12 * start


def test_the_largest_items_come_first_and_rows_are_limited():
    seen = []
    Portions(2, grows=False).work([3, 9, 1, 7], seen.append)
    assert seen == [[1, 3], [0, 2]]


def test_scores_that_cannot_be_had(requests):
    model = model_of(network_of("llama"), None)
    with pytest.raises(InputError, match="one entry per text; received 1 for 2 texts"):
        model.log_probabilities([[1], [2]], [[[1]]])
    with pytest.raises(
        InputError,
        match="a text of 127 tokens with a continuation of 2 exceeds the model's context of 128",
    ):
        model.log_probabilities([[1] * 127], [[[1, 2]]])
    assert model.log_probabilities([], []) == []
    assert [own.tolist() for own in model.log_probabilities([[1]], [[]])] == [[]]


def test_half_precision_is_near_single_precision(model_folder):
    texts, outcomes = ["Does a patient cough?", "Why?"], ["0", "1", "Yes", "No"]
    single = outcome_probabilities(
        load_causal_model(model_folder, dtype="float32"), texts, outcomes
    )
    half = load_causal_model(model_folder, dtype="bfloat16")
    assert half.network.dtype == torch.bfloat16
    assert half._trees.func is MaskedTrees
    np.testing.assert_allclose(
        outcome_probabilities(half, texts, outcomes).probabilities, single.probabilities, atol=0.05
    )
    assert len(half.generate([Request("Why?", 0, 5)])) == 1


def test_an_accelerator_is_used_where_there_is_one_and_in_half_precision(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto", "auto") == ("cpu", "float32")
    assert choose_device("cpu", "bfloat16") == ("cpu", "bfloat16")
    with pytest.raises(InputError, match="device 'cuda:1' needs a CUDA device"):
        choose_device("cuda:1", "auto")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    assert choose_device("auto", "auto") == ("cuda", "bfloat16")
    assert choose_device("cuda:1", "float32") == ("cuda:1", "float32")
    assert choose_device("cpu", "auto") == ("cpu", "float32")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    assert choose_device("auto", "auto") == ("cuda", "float32")
    with pytest.raises(InputError, match="dtype must be one of"):
        choose_device("cpu", "int8")
    with pytest.raises(InputError, match="device must be auto or a torch device"):
        choose_device("somewhere", "auto")
