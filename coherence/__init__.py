"""Statistical tests of belief-action coherence, of which most users need ten names.

==================  ==========================================================================
`analyze`           every check that a table allows: a report with a verdict for each model
`compare`           models on the same cases: verdicts, effects and their paired differences
`power`             how often a number of cases finds an effect, by simulation
`simulate`          answers of an agent whose coherence is known
`read_runs`         a file of answers as a runs table, with its columns under your names
`write_runs`        a runs table as a file
`Report`            what `analyze` returns: printed it is the screen; ``verdicts``, ``results``
`CheckResult`       what a check returns: statistic, interval, p-value, and why one is missing
`sufficiency_test`  the primary test, of arrays or of columns of ``data=``
`plots`             figures, as functions that take and return axes
==================  ==========================================================================

A model states a probability and, asked in a separate context, acts. Could that probability be the
belief it acts on? Every check takes arrays (or a runs table) and returns a `CheckResult`; `analyze`
runs all of them. Names are loaded on first use, so that importing the package costs next to
nothing.
"""

from coherence.public_names import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
