"""A finished analysis and its four faces: terminal text, HTML, JSON and a parquet table."""

from coherence.report.record import Report, Unit

__all__ = ["Report", "Unit"]
