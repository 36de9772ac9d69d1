"""The agent of known parameters that tests of `tests/api/rational` draw, too."""

from tests.api.rational.conftest import drawn

__all__ = ["drawn"]
