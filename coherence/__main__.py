"""`python -m coherence` is the command `coherence`, where no folder of commands is searched."""

import sys

from coherence.cli.main import main

status = main()
# Ctrl-C inside an exec of text, as dataclasses make their methods by, leaves a mark by which
# `python -m` ends with the signal in place of the status, though it was caught; the next such
# exec takes the mark away.
exec("")  # noqa: S102
sys.exit(status)
