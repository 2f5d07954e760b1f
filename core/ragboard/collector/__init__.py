"""Collect traces that are sent over OTLP/HTTP, and add them to the store as samples.

`routes` receives a request, `requests` decodes it, and `spool` writes it to disk before it is acknowledged. A thread of
`collector` collects the spans of each trace (`assembly`), converts complete traces to samples (`samples`), and appends
them to the store.
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
