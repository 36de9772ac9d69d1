"""What a package offers, loaded on first use; a name or an argument that is near one is said."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import lazy_loader

Given = ParamSpec("Given")
Result = TypeVar("Result")


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], Any]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package, from the stub beside it."""
    load, listed, names = lazy_loader.attach_stub(package, file)

    def loaded(name: str) -> Any:
        if name not in names:
            from coherence.errors import closest  # of no use to who types rightly

            hint = "" if name.startswith("_") else f". {closest(name, names)}"
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        return load(name)

    return loaded, listed, names


def rng_for_seed(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Answer ``seed=``, as other libraries call it, by the parameter that the function has."""

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        refuse_seed(kwargs)
        return function(*args, **kwargs)

    return called


def refuse_seed(arguments: dict[str, Any]) -> None:
    """Raise TypeError where ``seed`` is among the keyword arguments."""
    if "seed" in arguments:
        raise TypeError(
            f"there is no seed=; received {arguments['seed']!r}. Write rng={arguments['seed']!r}."
        )
