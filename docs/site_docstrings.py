"""Leaves types of docstrings as they are written: "array-like, shape (n,)" is no Python expression.

`mkdocs.yml` names it as an extension of griffe, which reads the docstrings and takes whatever
happens to compile for code: an array minus like, and a tuple with a call of shape.
"""

import re

from griffe import Docstring, Extension, Object

# What a parameter or a result is said to be, where it says more than a type.
_SAID = re.compile(r"^((?:[\w*, ]+ : )?)([A-Za-z][^\n:]*(?:-like|, shape \()[^\n]*)$", re.MULTILINE)
_NO_CODE = "\u2060"  # a word joiner: it takes no room, and no Python name may hold it


class WrittenTypes(Extension):
    """Mark types that are words, so that they are not read as code."""

    def on_object(self, *, obj: Object, **kwargs: object) -> None:
        """Mark the types in one docstring."""
        if isinstance(obj.docstring, Docstring):
            obj.docstring.value = _SAID.sub(rf"\1{_NO_CODE}\2", obj.docstring.value)
