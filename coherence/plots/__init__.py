"""The figures of belief-action coherence: functions that take data and axes and return the axes.

Each takes a runs table, arrays, or what a check or a fit returned; without ``ax`` it makes its own.
Colours are Okabe and Ito's, told apart by readers with any common colour deficiency, and marks
differ in shape or line too. Reports draw with the same functions.
"""

from coherence.public_names import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
