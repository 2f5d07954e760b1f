"""A run, or two compared, as one HTML file that a colleague opens without installing anything."""

from __future__ import annotations

from ragboard.htmlreport.comparison import PAIRS, comparison_report
from ragboard.htmlreport.run import SAMPLES, run_report

__all__ = ["PAIRS", "SAMPLES", "comparison_report", "run_report"]
