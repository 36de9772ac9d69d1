from coherence.report.plain import PLAIN


def test_what_reports_are_made_of_has_plain_signs():
    assert "─ 1–3 · “x” ‘y’ ≤ .05 … ×2 → ● −1".translate(PLAIN) == (
        "- 1-3 - \"x\" 'y' <= .05 ~ x2 > * -1"
    )
    assert all(sign.isascii() for sign in PLAIN.values())
