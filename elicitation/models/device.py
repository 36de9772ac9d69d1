"""Where a model runs and in what precision."""

import torch

from coherence.errors import InputError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_device(device: str, dtype: str) -> tuple[str, str]:
    """Resolve "auto" in a device and a precision.

    Parameters
    ----------
    device, dtype : str
        As of `load_causal_model`.

    Returns
    -------
    tuple of str
        Device and precision, neither of them "auto".

    Raises
    ------
    InputError
        An unknown precision or device, or a CUDA device where there is none.
    """
    if dtype not in ("auto", *DTYPES):
        raise InputError(f"dtype must be one of auto, {', '.join(DTYPES)}; received {dtype!r}.")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(device).type
    except RuntimeError as error:
        raise InputError(f"device must be auto or a torch device such as cpu or cuda:0; received {device!r}.") from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device {device!r} needs a CUDA device, and torch finds none. Use cpu, or install a torch with CUDA.")
    if dtype == "auto":
        dtype = "bfloat16" if kind == "cuda" and torch.cuda.is_bf16_supported() else "float32"
    return device, dtype
