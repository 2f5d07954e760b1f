"""Write quality gates as JUnit XML, which CI servers show as tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from ragboard.analysis import GateResult, gate_text

__all__ = ["junit_xml"]

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Matches characters that XML 1.0 cannot contain."""


def junit_xml(run: str, gated: Sequence[GateResult]) -> str:
    """Return JUnit XML with a test case per gate: a failed gate is a failure, an inconclusive gate is skipped."""
    failed = sum(result.verdict == "fail" for result in gated)
    skipped = sum(result.verdict == "inconclusive" for result in gated)
    counts = {"tests": str(len(gated)), "failures": str(failed), "errors": "0", "skipped": str(skipped), "time": "0"}
    suites = ET.Element("testsuites", {"name": "ragboard", **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": _allowed(run), **counts})
    for result in gated:
        sign = ">=" if result.fail == "below" else "<="
        name = _allowed(f"{result.metric} {sign} {result.threshold:g}")
        case = ET.SubElement(suite, "testcase", {"classname": _allowed(f"ragboard.{run}"), "name": name, "time": "0"})
        text = _allowed(gate_text(result))
        if result.verdict == "fail":
            ET.SubElement(case, "failure", {"message": text, "type": "QualityGate"}).text = text
        elif result.verdict == "inconclusive":
            ET.SubElement(case, "skipped", {"message": text})
        else:
            ET.SubElement(case, "system-out").text = text
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
