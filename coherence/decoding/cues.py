"""Words that decide how a number or an option is meant: hedges, negations, corrections, examples.

The lists err on the side of silence: a word too many leaves an answer unread, a word too few would
read one wrongly.
"""

import re
from fractions import Fraction

from coherence.decoding.numerals import NUMBER, RepairedText, UnreadableError, value_of


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(text.split('|'))})\b", re.IGNORECASE)


HEDGE = re.compile(
    r"\b(?:about|around|approx(?:imately)?|roughly|perhaps|maybe|possibly|nearly|almost|close to|"
    r"near|between|at least|at most|more than|less than|higher than|lower than|greater than|"
    r"over|under|above|below|up to|somewhere|or so|range|ranging|either|neither|could|might|"
    r"may|guess|unsure|uncertain|not sure|depend(?:s|ing)?|within|upper|lower|min(?:imum)?|"
    r"max(?:imum)?|give or take|ballpark|as high as|as low as|say between|or)\b|[~\u2248\u00b1<>?]",
    re.IGNORECASE,
)
"""A bound, a range, a doubt: a number beside one is not the number that is meant."""

HEDGED_REST = re.compile(
    r"[\s.,;:(\[*-]*(?:roughly|approx(?:imately)?|about|maybe|perhaps|possibly|or|to|at most|"
    r"at least|give or take|plus|minus|times|ish|\?|\u00b1|\+|~|(?:-|\u2013|\u2014)\s*[0-9.])",
    re.IGNORECASE,
)
"""What may follow a number directly and make it another one."""

NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|neither|nor|free (?:of|from)|absence|absent|unlikely|cannot|"
    r"other than|"
    r"rule[sd]? out|ruled|lack(?:s|ing)?|fails?|instead of|rather than|un\w+ to have)\b|n't\b|"
    r"\u00ac",
    re.IGNORECASE,
)
CONDITION = _words("if|unless|suppose|supposing|assuming|assume|in case|when|whether|otherwise")
_PRESSED = re.compile(
    r"\bif i(?:'m| am| were|'d| had| have| must| was)?(?: to| forced| pressed| asked| required)*\b"
    r"(?=[^.\n]{0,40}(?:number|say|pick|choose|estimate|guess|answer|put|forced|pressed|pin))|"
    r"\bif (?:forced|pressed|asked|pushed)\b",
    re.IGNORECASE,
)


def is_conditional(text: str) -> bool:
    """Return whether a text states a condition; "if I had to give a number" is none."""
    return bool(CONDITION.search(text)) and bool(CONDITION.search(_PRESSED.sub(" ", text)))


GENERIC = re.compile(
    r"\b(?:population|prevalence|base rate|base-rate|prior|average|typical(?:ly)?|general(?:ly)?|"
    r"sensitivity|specificity|incidence|studies|worldwide|lifetime|annual|overall|people|"
    r"most|usual(?:ly)?|commonly|false positive|accuracy|example|instance|initial(?:ly)?|"
    r"at first|naively?|confiden\w+|certainty|p-value|"
    r"smokers|adults|men|women|patients|cases|others?|someone|anyone|them)\b",
    re.IGNORECASE,
)
"""Words of sentences whose number may be one of the world at large, or not yet the answer."""

OPPOSITE = re.compile(
    r"\b(?:healthy|normal|benign|unaffected|negative|absent|absence|opposite|complement\w*|clear|"
    r"safe|fine|well)\b|-free\b",
    re.IGNORECASE,
)
"""Words of what may be asked about the other way round: that a patient is well."""

WORLD = _words(
    "population|prevalence|base rate|base-rate|prior|average|sensitivity|specificity|incidence|"
    "studies|literature|baseline|specific|sensitive|accurate|accuracy|incidence|risk factor"
)
"""Words of sentences whose number surely is one of the world at large."""

CORRECTION = re.compile(
    r"\b(?:corrected|correction|correcting|actually|on (?:further )?reflection|on second thoughts?|"
    r"wait(?! for| until)|hold on|hmm+|scratch (?:that|those|these)|sorry|my mistake|mistaken|"
    r"mistake|made an? error|i meant|"
    r"i mixed|mixed (?:up|those|them)|other way (?:a)?round|revis(?:e|ed|es|ing|ion)|"
    r"reconsider\w*|rethink\w*|swap(?:ped)?|revers(?:e|ed|ing)|should (?:have been|read|say)|oops|"
    r"apologi\w+|(?:updat|chang|adjust|amend)\w* (?:my|the|this|that|these) "
    r"(?:answer|estimate|mind|prob\w+|numbers?|values?|decision|choice)|take (?:it|that|this) back|"
    r"disregard|ignore (?:the|that|my|what)|strike (?:that|those|these)|no longer|"
    r"let me (?:re\w+|try again|"
    r"correct|fix|double|check|think)|that said|on the other hand|better answer|"
    r"final answer should|inverted|backwards|disagree\w*|"
    r"(?:this|that|it|above|numbers?|values?) (?:is|are|was|were) (?:wrong|incorrect)|"
    r"nope|placeholders?|arbitrary|made up|kidding|joking|flip(?:ped)?|never ?mind|"
    r"(?:are|is|were|was) not (?:my|the (?:right|correct|real|true|actual))|not my prob\w+|"
    r"now\b[^.,\n]{0,10}\b(?:say|think|believe|put|estimate)|make (?:it|that|this) (?!more\b)|"
    r"too (?:high|low) (?:for (?:yes|no)|an? \w+)|i find (?:that |this |it )?too|"
    r"(?:was|is|were|are) (?:just |only )?(?:the|an) example|generic|mine is|the other (?:one|way)|"
    r"umgekehrt|l'inverse|al rev[e\u00e9]s)\b|^or\b|\u5f04\u53cd|\u5199\u53cd|\u66f4\u6b63|"
    r"\u4e0d\u5bf9|\bpercent(?:ages?)? (?:units?|points?)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Words with which a reply takes back what it said before."""

SEVERAL = re.compile(
    r"\b(?:patient|case|person|scenario|subject|question|individual|player)s? "
    r"(?:(?-i:[A-D])|#?[1-9]|one|two)\b|^[^\w\n]{0,4}q: |"
    r"\b(?:first|second|other|another) (?:patient|case|person|scenario|question|individual)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Words of replies that speak of more cases than the one they were asked about."""

EXAMPLE = re.compile(
    r"\b(?:for instance|for example|example|e\.g|template|the form of the (?:reply|answer)|"
    r"placeholder|hypothetical(?:ly)?)\b",
    re.IGNORECASE,
)
OWN = re.compile(
    r"\b(?:(?:i|i'd|i'll|i'm|we|we'd)\b[^.]{0,60}\b(?:say|put|estimate|give|assign|go|answer|"
    r"choose|"
    r"settle|lean\w*|think|believe)|(?:my|final|new|better)\b[^.]{0,40}\b(?:answer|estimate|guess|"
    r"probability|belief|numbers?))\b",
    re.IGNORECASE,
)
"""Words of sentences in which the reply speaks for itself."""

DISOWNED = re.compile(
    r"\b(?:wrong|incorrect|worst|least|tempting|reject\w*|eliminat\w+|exclud\w+|"
    r"naive\w*|some(?:one)?|many|"
    r"others?|they|you|people|commonly|popular|intuitive\w*|hardly|never)\b",
    re.IGNORECASE,
)
"""Words with which an answer is told that is another's, or is no answer."""

REFERS_BACK = re.compile(
    r"^\W*(?:this|that|it|which|these|those)\b[^.]{0,30}\b(?:is|are|was|means?|gives?)\b[^.]{0,30}"
    r"\b(?:prob\w+|chance|likelihood|number|estimate|odds)\b",
    re.IGNORECASE,
)
"""Beginnings of sentences that say what the number before them is."""

REFUSALS = (
    "i cannot",
    "i can't",
    "i can not",
    "i am unable",
    "i'm unable",
    "i am not able",
    "i'm not able",
    "i won't",
    "i will not",
    "i must decline",
    "i decline",
    "as an ai",
    "not appropriate for me",
)
"""Phrases (lower case, straight apostrophes) that make an unreadable answer a refusal."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n")


def sounds_like_refusal(text: str) -> bool:
    """Return whether a text has one of the phrases of a refusal, with either apostrophe."""
    plain = text.lower().replace("\u2019", "'")
    return any(phrase in plain for phrase in REFUSALS)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, roughly; a decimal point ends none."""
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def probabilities_in(text: str) -> list[Fraction]:
    """Return the numbers of a text that may be probabilities: decimals, percentages, fractions.

    Whole numbers such as ages are none, nor is what lies outside [0, 1].
    """
    values = []
    for match in NUMBER.finditer(text):
        plain = match["number"]
        if plain and not match["percent"] and not ("." in plain[:-1] or "," in plain):
            continue
        try:
            value = value_of(match, RepairedText(""))
        except UnreadableError:
            continue
        if 0 <= value <= 1:
            values.append(value)
    return values
