"""The dashboard: pages that draw what `ragboard.report` says. Started by `ragboard serve`."""
