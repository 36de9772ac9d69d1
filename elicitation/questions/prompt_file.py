"""Templates of a user's own, from a TOML file.

Each table is one template: ``[belief.<name>]`` for a prompt variant, ``[decision]``, ``[yes_no]``,
``[auxiliary]``, ``[conditional]``, ``[matching]``, ``[stakes]``, ``[costs_said]``. What the file
leaves out is taken from the built-in templates. A file is checked as a whole, and all its errors
are reported at once.
"""

import os
import re
import string
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from coherence.errors import InputError, closest
from coherence.runs.frames import require_path
from elicitation.questions.prompts import PromptSet, Template

RESERVED = ("token", "sampled")
"""Values of the `prompt` column that stand for ways of eliciting and not for a prompt variant."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_FORMS = ("lines", "number")
_LINE_WORDS = ("labels", "example", "n_lines")
# A template may speak of "a patient" in its own words.
_FREE_WORDS = ("subject",)
# A file of texts that somebody wrote has kilobytes: more is a file named by mistake.
_MOST_BYTES = 1 << 20


def load_prompts(
    path: str | os.PathLike[str], base: PromptSet
) -> tuple[PromptSet, tuple[str, ...]]:
    """Read templates from a file.

    Parameters
    ----------
    path : path-like
        A TOML file with a table for each variant of the belief question, such as
        ``[belief.number]``: ``text``, and ``form``, "lines" (``No: 0.30`` and ``Yes: 0.70``, the
        default) or "number" (the probability of Yes alone). Of a network ``{description}`` and
        ``{question}`` are needed, of questions of one's own ``{question}``; ``{subject}``,
        ``{labels}``, ``{example}`` and ``{n_lines}`` may help. ``[decision]``, ``[yes_no]``,
        ``[auxiliary]`` and ``[conditional]`` replace the other questions; ``[matching]`` and
        ``[stakes]`` have ``{options}`` in their text, and keys ``event``, ``complement`` and
        ``lottery`` (with ``{chance}``), or ``act`` (with ``{gain}`` and ``{loss}``) and ``pass``,
        which ``[costs_said]`` has as well, with ``{letter}`` of the former in its text.
    base : PromptSet
        Built-in templates of the same kind of session; they say which placeholders there are.

    Returns
    -------
    prompts : PromptSet
        The file's templates over the built-in ones.
    names : tuple of str
        The prompt variants that the file has, in its order.

    Raises
    ------
    InputError
        The file cannot be read, or with every error at once.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import elicitation
    >>> words = '''
    ... [belief.number]
    ... form = "number"
    ... text = "A patient {description}. How probable is it that they {question}? One number:"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "prompts.toml"
    ...     _ = path.write_text(words, encoding="utf-8")
    ...     prompts, names = load_prompts(path, elicitation.NETWORK_PROMPTS)
    >>> names
    ('number',)
    """
    source = require_path(path)
    content = read_toml(source, "prompts")
    errors: list[str] = []
    single = {
        name: template
        for name in PromptSet.__dataclass_fields__
        if isinstance(template := getattr(base, name), Template)
    }
    allowed = ("belief", *single)
    for name in content:
        if name not in allowed:
            known = ", ".join(allowed)
            hint = closest(name, allowed)
            errors.append(f"[{name}] is no template; there are {known}. {hint}")
    variants = _variants(content.get("belief", {}), next(iter(base.belief.values())), errors)
    changed = {
        name: _template(name, name, content[name], old, errors)
        for name, old in single.items()
        if name in content
    }
    if not content:
        errors.append("it holds no template.")
    if errors:
        raise InputError.all_at_once(
            f"prompts {source} has {len(errors)} error{'s' if len(errors) > 1 else ''}", errors
        )
    belief = MappingProxyType({**base.belief, **variants})
    return replace(base, belief=belief, **changed), tuple(variants)


def read_toml(source: Path, what: str) -> dict[str, Any]:
    """Read a file that somebody wrote; `what` names its kind in messages."""
    try:
        if source.stat().st_size > _MOST_BYTES:
            raise InputError(f"{what} {source} must be smaller than 1 MB. Name another file.")
        return tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{what} {source} cannot be read ({error.strerror}). Name a .toml file that exists."
        ) from error
    # Brackets thousands deep are a recursion, numbers of thousands of digits a plain ValueError.
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{what} {source} is not TOML: {error}. "
            "Texts of several lines stand between three quotation marks."
        ) from error


def _variants(belief: Any, old: Template, errors: list[str]) -> dict[str, Template]:
    """Make the prompt variants of a belief, or note what is wrong with them."""
    if not isinstance(belief, dict) or any(
        not isinstance(table, dict) for table in belief.values()
    ):
        errors.append('variants are tables of their own, such as [belief.mine] with text = "...".')
        return {}
    variants = {}
    for name, table in belief.items():
        if not _NAME.fullmatch(name) or name in RESERVED:
            errors.append(
                f"[belief.{name}] must be named by a letter and then letters, digits, '-' or '_' "
                f"(40 at most), and not {' or '.join(RESERVED)}."
            )
        variants[name] = _template(f"belief.{name}", name, table, old, errors)
    return variants


def _fields(text: str) -> list[str]:
    return list(
        dict.fromkeys(
            field for _, field, _, _ in string.Formatter().parse(text) if field is not None
        )
    )


def _template(
    label: str,
    name: str,
    table: Any,
    old: Template,
    errors: list[str],
) -> Template:
    """Make a template in the place of a built-in one, or note what is wrong with it."""
    if not isinstance(table, Mapping):
        errors.append(f'[{label}] must be a table with text = "...".')
        return Template(name, "")
    is_belief = label.startswith("belief.")
    keys = ("text", "form") if is_belief else ("text", *old.says)
    for key in table:
        if key not in keys:
            errors.append(f"[{label}] has an unknown key {key!r}. {closest(key, keys)}")
    # What is wrong is noted and replaced, so that all errors of a file come at once.
    form = table.get("form", "lines")
    if is_belief and form not in _FORMS:
        errors.append(f"[{label}] form must be one of {', '.join(_FORMS)}; received {form!r}.")
        form = "lines"
    text = table.get("text")
    if not isinstance(text, str) or not text.strip():
        errors.append(f"[{label}] needs text, a string that is not empty.")
        return Template(name, "")
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as error:
        errors.append(
            f"[{label}] text has a stray brace ({error}). "
            "Write {{ and }} for braces that are meant as such."
        )
        return Template(name, "")
    words = _fields(old.text)
    # Without these a question would not be about the case; the others are of use, or not.
    needed = [word for word in words if word not in (*_LINE_WORDS, *_FREE_WORDS)]
    free = [word for word in _FREE_WORDS if word in words]
    known = list(dict.fromkeys([*needed, *_LINE_WORDS, *free]))
    for _, word, spec, conversion in parsed:
        # An exact name and nothing else: "{question.x}" or "{question!r}" would reach into Python.
        if word is not None and (word not in known or spec or conversion):
            errors.append(
                f"[{label}] text has an unknown placeholder {{{word}}}; "
                f"there are {', '.join(known)}. {closest(word, known)}"
            )
    for word in needed:
        if word not in [field for _, field, _, _ in parsed]:
            errors.append(f"[{label}] text lacks the placeholder {{{word}}}.")
    # What an option says has placeholders of its own.
    says = {
        option: _template(
            f"{label}.{option}", option, {"text": table[option]}, Template(option, usual), errors
        ).text
        for option, usual in old.says.items()
        if option in table
    }
    return Template(name, text, form, {**old.says, **says})
