"""Names of columns of results: as in `runs.csv`, or short as on the command line."""

from __future__ import annotations

from collections.abc import Collection

from justfull import _native
from justfull.errors import ArgumentError


def column(field: str, name: str, there: Collection[str]) -> str:
    """The column called `name`, or `delay_ms_p99` for its short name `delay.p99`."""
    if name in there:
        return name
    long, hint = _native.column(name)
    if long is not None and long in there:
        return long
    allowed = f"a column, or its short name such as delay.p99{hint}"
    raise ArgumentError(f"{field}: found {name}, allowed is {allowed}", field=field, found=name,
                        allowed=allowed)
