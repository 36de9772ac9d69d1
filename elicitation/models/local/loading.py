"""Loading a network with its tokenizer: where it runs, in what precision, and what may go wrong.

Only safetensors and GGUF weights are read, and no code that comes with a model is run. A folder is
written whole or not at all.
"""

import io
import re
import shutil
import struct
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from coherence.errors import InputError, MissingExtraError
from elicitation.models.local.sources import ModelSource, without_network

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Lists of layers as architectures name them: model.layers.3, transformer.h.3, encoder.layer.3.
_LAYER = re.compile(r"(.+\.)?(layers?|h|blocks?)\.\d+\.")
BROKEN = (
    *(OSError, ValueError, LookupError, RuntimeError, ImportError),
    *(TypeError, AttributeError, ArithmeticError, AssertionError),
    *(struct.error, SafetensorError, StrictDataclassError),
)
"""What a broken config, tokenizer or file of weights raises on its way through transformers."""


def require_transformers(network: Any, tokenizer: Any) -> None:
    """Refuse what are not a network and a tokenizer of transformers."""
    # A network within another module, to watch it, say, will do: it hands its config on.
    config = getattr(network, "config", None)
    is_network = isinstance(network, torch.nn.Module) and config is not None
    is_tokenizer = isinstance(tokenizer, PreTrainedTokenizerBase)
    if not (is_network and is_tokenizer):
        what, value = ("tokenizer", tokenizer) if is_network else ("network", network)
        raise InputError(
            f"{what} must be one of transformers; received {type(value).__name__}. "
            "Load a folder or a name with load_causal_model or load_multiple_choice_model."
        )


@dataclass(frozen=True)
class Placement:
    """Where a model runs and in what form."""

    # precision of the weights; "auto" is bfloat16 on an accelerator that has it, else float32
    dtype: str = "auto"
    device: str = "auto"  # a torch device; "auto" is the first CUDA device, else the processor
    # handed to transformers as it is, to spread a model over devices; it takes the place of
    # `device`
    device_map: str | Mapping[str, Any] | None = None

    def check(self) -> None:
        """Raise for what cannot be done, before anything is loaded."""
        if self.device_map is None:
            return
        if self.device != "auto":
            raise InputError(
                f"device_map says where the parts of a model go; received device "
                f"{self.device!r} beside it. Leave one of them out."
            )
        if find_spec("accelerate") is None:
            raise MissingExtraError("device-map", "A device map")


# In fingerprints that stores hold.
UNQUANTISED = ";quantization=None"


def load_network(
    source: ModelSource,
    architecture: Any,
    placement: Placement,
    *,
    as_what: str,
    remedy: str = "Use a complete copy of the model.",
    new_head: bool = False,
    **tokenizer_options: Any,
) -> tuple[Any, Any, str]:
    """Load a network and its tokenizer; with `new_head` its head may begin with random weights."""
    device, dtype = choose_device(placement.device, placement.dtype)
    placement.check()
    # Code that comes with a model would run with the rights of the user.
    common = {**source.options, "trust_remote_code": False}
    weights: dict[str, Any] = {"dtype": DTYPES[dtype]}
    weights |= {} if source.kind == "gguf" else {"use_safetensors": True}
    weights |= {} if placement.device_map is None else {"device_map": placement.device_map}
    with _reading(source):
        try:
            _require_class(source, architecture, as_what)
            tokenizer = AutoTokenizer.from_pretrained(
                source.location, **common, **tokenizer_options
            )
            network, report = architecture.from_pretrained(
                source.location, **common, **weights, output_loading_info=True
            )
        except BROKEN as error:
            reason = " ".join(str(error).split())
            if "ignore_mismatched_sizes" in reason:  # said with advice that nobody here can take
                reason = (
                    "its weights have other sizes than its config.json says, so that the two "
                    "belong to different models. Use a complete copy of one."
                )
            raise InputError(
                f"{source.label} could not be loaded as a {as_what}: {reason}"
            ) from error
    missing = sorted(report["missing_keys"])
    if new_head:
        # Anything else that is missing would be random numbers in the middle of the model.
        body = network.base_model_prefix + "."
        missing = [key for key in missing if key.startswith(body) and "pooler" not in key]
    if missing:
        # transformers would fill them with random numbers and a remark.
        raise InputError(f"{source.label} lacks weights for {', '.join(missing[:3])}. {remedy}")
    # Whole layers that were left out; single weights may be another head's.
    layers = {match[0] for name in network.state_dict() if (match := _LAYER.match(name))}
    for name in sorted(report["unexpected_keys"]):
        if (match := _LAYER.match(name)) and match[0] not in layers:
            raise InputError(
                f"{source.label} has weights of layers that its config.json does not have, such "
                f"as {name}: the two belong to different models. Use a complete copy of one."
            )
    # With a map, transformers has put it where it runs, and it must not be moved.
    network = (network if placement.device_map is not None else network.to(device)).eval()
    return network, tokenizer, dtype


def _require_class(source: ModelSource, architecture: Any, as_what: str) -> None:
    """Refuse a type of model that has no class for a purpose."""
    if source.kind == "gguf":
        return  # read twice, the file would take twice as long
    # transformers would import and list all types that have one.
    config = AutoConfig.from_pretrained(source.location, **source.options, trust_remote_code=False)
    if type(config) not in architecture._model_mapping:
        raise InputError(
            f"{source.label} is of type {config.model_type}, of which transformers has no "
            f"{as_what}. Use another model."
        )


def choose_device(device: str, dtype: str) -> tuple[str, str]:
    """Resolve "auto" in a device and a precision."""
    if dtype not in ("auto", *DTYPES):
        raise InputError(f"dtype must be one of auto, {', '.join(DTYPES)}; received {dtype!r}.")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        accelerator = torch.device(device).type
    except RuntimeError as error:
        raise InputError(
            f"device must be auto or a torch device such as cpu or cuda:0; received {device!r}."
        ) from error
    if accelerator == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"device {device!r} needs a CUDA device, and torch finds none. "
            "Use cpu, or install a torch with CUDA."
        )
    if dtype == "auto":
        # Never float16: what a model trained in bfloat16 computes can exceed its range.
        half = accelerator == "cuda" and torch.cuda.is_bf16_supported()
        dtype = "bfloat16" if half else "float32"
    return device, dtype


@contextmanager
def _reading(source: ModelSource) -> Iterator[None]:
    """Read a model quietly; one that lies here without a look outside this machine."""
    with ExitStack() as stack:
        # Gigabytes may be on their way from the hub, and a bar says how many are left.
        stack.enter_context(quiet_transformers(bars=source.kind == "hub"))
        if source.kind != "hub":
            stack.enter_context(without_network())
        if source.kind == "gguf":
            # The bar of this conversion has no switch of its own; failures are raised.
            stack.enter_context(redirect_stderr(io.StringIO()))
        yield


@contextmanager
def quiet_transformers(*, bars: bool = False) -> Iterator[None]:
    """Keep remarks and deprecations of transformers back, and bars unless they are wanted.

    What matters is checked here.
    """
    had_bars = transformers_logging.is_progress_bar_enabled()
    verbosity = transformers_logging.get_verbosity()
    if not bars:
        transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if had_bars and not bars:
            transformers_logging.enable_progress_bar()


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Give a folder in a private one beside the target, whose place it takes if all goes well."""
    private = Path(tempfile.mkdtemp(prefix=".part-", dir=target.absolute().parent))
    try:
        made = private / target.name
        made.mkdir()
        yield made
        made.rename(target)  # in one step, since both lie on one file system
    finally:
        # Not in an except: Ctrl-C is no Exception and shall leave nothing either.
        shutil.rmtree(private, ignore_errors=True)


def save_network(network: Any, tokenizer: Any, folder: Path) -> None:
    """Write a network and its tokenizer as ``save_pretrained`` does, in safetensors."""
    with quiet_transformers():
        network.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
