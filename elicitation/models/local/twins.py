"""A tiny random network of the class of a given one, with narrow layers and short windows.

A class shows what it does beyond its windows in a text of a few dozen tokens where they are
narrower. Nothing is known of classes here: sizes are found by the names that configurations give
them, and divided by what leaves a network that reads a text.
"""

import copy
import re
from itertools import product

import torch
from transformers import PreTrainedConfig

_WORDS = 96
_EXPERTS = 32  # some classes choose two or more in each of eight groups
_DEPTH = 8
_MOST_WEIGHTS = 30_000_000
_NARROWER = (32, 16, 8, 4, 2, 1)
_IS_WINDOW = re.compile(r"window|chunk|block_size|local_att|index_topk")
_IS_WIDTH = re.compile(
    r"hidden|intermediate|inner|ffn|embd|embed|dim|_size$|rank|width|(^|_)d_(?!conv)"
)
_IS_NO_WIDTH = re.compile(r"kernel|position|layer|heads|num_|batch|type_|group")


def tiny_twin(
    kind: type[torch.nn.Module], config: PreTrainedConfig, *, window: int = 16
) -> torch.nn.Module | None:
    """Return a tiny random network of a class, or None where no attempt reads a text.

    Its layers with a window, or anything alike, see `window` tokens at most.
    """
    for narrower, depth in product(_NARROWER, (_DEPTH, None)):
        # A size that cannot be divided ends in any of a dozen errors, from any line of the class.
        try:
            small = _shrunk(config, narrower, depth, window)
            small.validate()
            with torch.device("meta"):
                if sum(weight.numel() for weight in kind(small).parameters()) > _MOST_WEIGHTS:
                    continue
            twin = _filled(kind(small))
            with torch.inference_mode():
                logits = twin(input_ids=5 + torch.arange(2 * window)[None] % 32).logits
        except Exception:
            continue
        if logits.isfinite().all():
            return twin
    return None


def least_window(config: PreTrainedConfig) -> int | None:
    """Return the least of the windows that a configuration names; None where it names none."""
    named = [
        size
        for name, value in vars(config.get_text_config(decoder=True)).items()
        if _is_window(name) and "pattern" not in name and not name.startswith("_")
        for size in (value if isinstance(value, list | tuple) else [value])
        if type(size) is int and size > 0
    ]
    return min(named, default=None)


def _is_window(name: str) -> bool:
    return bool(_IS_WINDOW.search(name)) and "layer" not in name


def rounding(network: torch.nn.Module) -> float:
    """Return by how much rounding may move log-probabilities of a tiny network.

    Moved by one part in ten million, weights move what Llama says by 1e-5 and what a network with
    gated recurrent layers (Qwen3-Next) says by 1e-2: its random weights amplify.
    """
    generator = torch.Generator().manual_seed(0)
    moved = copy.deepcopy(network)
    with torch.no_grad():
        for weight in moved.parameters():
            noise = torch.randn(weight.shape, generator=generator).to(weight)
            weight.mul_(1 + 1e-7 * noise)
    device = next(network.parameters()).device
    words = torch.randint(5, 37, (8, 64), generator=generator).to(device)
    with torch.inference_mode():
        first, second = (each(input_ids=words).logits.log_softmax(-1) for each in (network, moved))
    return float((first - second).nan_to_num(0.0).abs().max())


def _filled(network: torch.nn.Module) -> torch.nn.Module:
    """Give the weights a size at which a token more or less changes what is read."""
    network = network.float().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in network.parameters():
            if weight.dim() < 2:
                continue
            scale = weight.shape[-1] ** -0.5 if weight.std() > 0 else 0.0
            if scale:  # what a class begins with is kept but for its size
                weight.mul_(scale / weight.std())
            else:
                weight.normal_(std=weight.shape[-1] ** -0.5, generator=generator)
    return network


def _shrunk(
    config: PreTrainedConfig, narrower: int, depth: int | None, window: int
) -> PreTrainedConfig:
    """Return a configuration with small sizes, or with the depth that it has."""
    small = copy.deepcopy(config)
    # Weights of full precision: quantised ones need libraries, and are no matter of the class.
    vars(small).pop("quantization_config", None)
    for name, value in list(vars(small).items()):
        if isinstance(value, PreTrainedConfig):
            setattr(small, name, _shrunk(value, narrower, depth, window))
        elif type(value) is int and not name.startswith("_"):
            setattr(small, name, _size(name, value, narrower, window))
    n_layers = getattr(small, "num_hidden_layers", None)
    if depth is not None and isinstance(n_layers, int) and n_layers > depth:
        of_layers = {
            name: value
            for name, value in vars(small).items()
            if isinstance(value, list) and len(value) == n_layers
        }
        # Long enough to have every kind of layer.
        for kinds in of_layers.values():
            if all(isinstance(kind, str) for kind in kinds):
                depth = max(depth, *(kinds.index(kind) + 1 for kind in set(kinds)))
        for name, value in of_layers.items():
            setattr(small, name, value[:depth])
        small.num_hidden_layers = depth
    return small


def _size(name: str, value: int, narrower: int, window: int) -> int:
    """Return what an entry of a configuration becomes."""
    if _is_window(name):
        return min(value, window)
    if "vocab_size" in name and "type" not in name:
        return min(value, _WORDS)
    if name.endswith("token_id"):
        return value if value < _WORDS else 2
    if "experts" in name and "_per_" not in name:
        return min(value, _EXPERTS)
    if _IS_WIDTH.search(name) and not _IS_NO_WIDTH.search(name):
        return value // narrower if value > narrower and value % narrower == 0 else value
    return value
