"""What a whole answer in a form looks like, in the plainest spelling of each part."""

import re

NUMBER = r"(?:0(?:\.[0-9]{1,2})?|1(?:\.0{1,2})?)"
EITHER = "(?:Yes|No)"


def pattern_of(form):
    if form.kind == "number":
        return NUMBER
    if form.kind == "decision":
        return f"Can decide: {EITHER}\nDecision: {EITHER}"
    if form.kind == "choice":
        return f"(?:{'|'.join(map(re.escape, form.labels))})"
    return "\n".join(f"{re.escape(label)}: {NUMBER}" for label in form.labels)
