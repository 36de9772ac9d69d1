"""The papers' tables and figures by their numbers, from finished reports and scores."""

from coherence.analysis.paper.tables import write_paper

__all__ = ["write_paper"]
