"""The dashboard: pages that draw what `ragboard.analysis` says. Started by `ragboard serve`."""
