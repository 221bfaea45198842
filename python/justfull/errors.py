"""The errors, each with the field, the found value and the allowed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from justfull._results import Results


class JustfullError(Exception):
    """The base of all exceptions of this package."""


class ArgumentError(JustfullError, ValueError):
    """An argument is not an allowed value."""

    def __init__(self, text: str, *, field: str = "", found: str = "", allowed: str = "") -> None:
        super().__init__(text)
        self.field = field
        self.found = found
        self.allowed = allowed


class ScenarioError(ArgumentError):
    """A scenario is wrong: `file` and `line` say where, `method` under which method."""

    def __init__(
        self,
        text: str,
        *,
        file: str = "",
        line: int | None = None,
        field: str = "",
        found: str = "",
        allowed: str = "",
        method: str = "",
        needs_data: bool = False,
    ) -> None:
        super().__init__(text, field=field, found=found, allowed=allowed)
        self.file = file
        self.line = line
        self.method = method
        self.needs_data = needs_data


class TraceError(ArgumentError):
    """A file is no trace: `file` and `line` say where, `field` in which column."""

    def __init__(
        self,
        text: str,
        *,
        file: str = "",
        line: int | None = None,
        field: str = "",
        found: str = "",
        allowed: str = "",
    ) -> None:
        super().__init__(text, field=field, found=found, allowed=allowed)
        self.file = file
        self.line = line


class BrokenRunError(JustfullError):
    """Runs broke an invariant of the simulator. The results of the others are in `results`."""

    def __init__(self, broken: list[str], results: Results) -> None:
        super().__init__("; ".join(broken))
        self.broken = broken
        self.results = results
