"""Collect traces that are sent over OTLP/HTTP, and add them to the store as samples.

A request is decoded (`requests`), written to the spool (`spool`) and acknowledged (`routes`). A thread puts the traces
together (`assembly`), turns them into samples (`samples`) and appends these to the store (`collector`).
"""

from ragboard.collector.assembly import TraceLimits
from ragboard.collector.collector import Collector, CollectorOnDemand, CollectorOptions, QueueFullError
from ragboard.collector.routes import EndpointOptions, TraceEndpoint, serve_collector
from ragboard.collector.token import read_token

__all__ = [
    "Collector",
    "CollectorOnDemand",
    "CollectorOptions",
    "EndpointOptions",
    "QueueFullError",
    "TraceEndpoint",
    "TraceLimits",
    "read_token",
    "serve_collector",
]
