"""The theme as Streamlit configuration: colours, fonts and spacing, light and dark.

Headings and long texts use Source Serif, everything else Source Sans. Streamlit bundles both, so no font host is
needed.
"""

from __future__ import annotations

from typing import Any, Literal

__all__ = ["DARK", "LIGHT", "OPTIONS", "STYLE", "Palette", "palette"]

LIGHT = {
    "backgroundColor": "#fdfcf9",
    "secondaryBackgroundColor": "#f3f1ea",
    "textColor": "#1d1c1a",
    "borderColor": "#dcd8cd",
    "dataframeBorderColor": "#e6e2d8",
    "dataframeHeaderBackgroundColor": "#f7f5ef",
    "dataframeHeaderTextColor": "#55524b",
    "primaryColor": "#24508f",
    "linkColor": "#24508f",
    "grayTextColor": "#5c5952",
    "greenTextColor": "#0b5f5a",
    "orangeTextColor": "#8a3d00",
    "violetTextColor": "#8c1459",
}
DARK = {
    "backgroundColor": "#15171b",
    "secondaryBackgroundColor": "#1f2228",
    "textColor": "#e9e6df",
    "borderColor": "#373b44",
    "dataframeBorderColor": "#30343c",
    "dataframeHeaderBackgroundColor": "#1b1e23",
    "dataframeHeaderTextColor": "#b4b0a7",
    "primaryColor": "#9dbcf0",
    "linkColor": "#9dbcf0",
    "grayTextColor": "#b0aca3",
    "greenTextColor": "#6fd0c4",
    "orangeTextColor": "#f0a65e",
    "violetTextColor": "#f39ac7",
}

OPTIONS: dict[str, Any] = {
    "theme.font": "sans-serif",
    "theme.headingFont": "serif",
    "theme.baseFontSize": 15,
    "theme.headingFontSizes": ["1.6rem", "1.3rem", "1.1rem", "1rem", "0.95rem", "0.9rem"],
    "theme.headingFontWeights": [600, 600, 600, 600, 600, 600],
    "theme.baseRadius": "0.35rem",
    "theme.paddingTop": "0.25rem",
    "theme.showWidgetBorder": True,
    **{f"theme.light.{name}": value for name, value in LIGHT.items()},
    **{f"theme.dark.{name}": value for name, value in DARK.items()},
}

STYLE = """<style>
[data-tag] { background: color-mix(in srgb, #6f95d2 28%, transparent) !important; color: inherit !important; }
[data-tag] span, [data-tag] button { color: inherit !important; }
.st-key-frame { position: absolute; width: 0 !important; overflow: hidden; }
:has(> [data-testid=stHeaderLogo]) { display: flex; align-items: center; gap: 0.45rem; }
:has(> [data-testid=stHeaderLogo])::after {
  content: "ragboard"; font: 600 1.1rem "Source Serif", Georgia, serif; color: light-dark(#1d1c1a, #e9e6df);
}
.st-key-breadcrumb nav {
  display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0.2rem 1.2rem; overflow-wrap: anywhere;
}
.st-key-breadcrumb nav div { display: flex; flex-wrap: wrap; gap: 0.2rem 0.5rem; }
.st-key-breadcrumb nav div + div { column-gap: 1.2rem; }
.st-key-breadcrumb nav span { opacity: 0.75; }
nav.steps { display: flex; gap: 0.9rem; }
nav.steps > * {
  padding: 0.4rem 0.8rem; border: 1px solid light-dark(#dcd8cd, #373b44); border-radius: 0.35rem; font-size: 0.93rem;
}
nav.steps span { opacity: 0.7; border-style: dashed; }
nav.steps kbd { margin-left: 0.3rem; border: 0; background: none; font: inherit; opacity: 0.75; }
details.folded { margin-top: 1rem; border: 1px solid light-dark(#dcd8cd, #373b44); border-radius: 0.35rem; }
details.folded summary { padding: 0.45rem 0.9rem; cursor: pointer; font-size: 0.93rem; }
details.folded > :not(summary) { padding: 0.4rem 0.9rem 0.8rem !important; }
a.in-session { color: inherit !important; text-decoration: none !important; border-radius: 2px; }
a.in-session:hover { text-decoration: underline !important; }
a.in-session:focus-visible { outline: 2px solid light-dark(#24508f, #9dbcf0); outline-offset: 2px; }
[data-testid=stExpandSidebarButton] { gap: 0.3rem; width: auto !important; }
[data-testid=stExpandSidebarButton]::after { content: "Menu"; font-size: 1rem; }
[data-testid=stFileUploaderDropzoneInstructions] span { white-space: normal; overflow: visible; }
@media (max-width: 640px), (pointer: coarse) {
  :is(button, nav.steps) kbd { display: none !important; } /* no keyboard: no shortcut */
}
@media (max-width: 640px) {
  :has(> [class*="st-key-first-on-phones"]) { order: -1; }
  .st-key-beside-on-phones [data-testid=stHorizontalBlock] { row-gap: 0.5rem; }
  .st-key-beside-on-phones [data-testid=stColumn] { min-width: calc(50% - 1rem); flex: 1 1 calc(50% - 1rem); }
  [data-testid=stButtonGroup] > div { flex-wrap: wrap; }
 }
[data-testid^="stBaseButton-primary"] { color: light-dark(#fff, #15171b) !important; }
</style>"""
"""Corrections of Streamlit's styles. Streamlit's white text of selected options and primary buttons is hard to read on
a light primary colour. On a phone, results come before the controls that select them, and controls are side by side."""


Palette = dict[Literal["ink", "quiet", "line", "data", "mean", "paper", "right"], str]
CHART_LIGHT: Palette = {
    "ink": "#1d1c1a",
    "quiet": "#5c5952",
    "line": "#dcd8cd",
    "data": "#6f8fbd",
    "mean": "#24508f",
    "paper": "#fdfcf9",
    "right": "#0b5f5a",
}
CHART_DARK: Palette = {
    "ink": "#e9e6df",
    "quiet": "#b0aca3",
    "line": "#373b44",
    "data": "#5f82bb",
    "mean": "#a9c5f5",
    "paper": "#15171b",
    "right": "#6fd0c4",
}


def palette(theme: str | None) -> Palette:
    """Return the colours of a theme, `light` or `dark`."""
    return CHART_DARK if theme == "dark" else CHART_LIGHT
