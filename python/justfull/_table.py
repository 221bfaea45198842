"""Tables of results, shared with polars, pandas, DuckDB and pyarrow without a copy."""

from __future__ import annotations

from html import escape
from typing import Any

from justfull import _native

_SHOWN = 10
# JupyterLab breaks cells into lines otherwise; the table scrolls.
_CELL = "white-space:nowrap"


class Table:
    """Rows in Arrow's memory. Any library with the Arrow PyCapsule interface reads it directly:
    `polars.DataFrame(table)`, `pyarrow.table(table)`, `duckdb.sql("from table")` after either."""

    def __init__(self, native: _native.Table, name: str) -> None:
        self._table = native
        self._name = name

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, name: str) -> list[Any]:
        """The cells of a column, by its name or its short name such as `delay.p99`; None for a
        missing value. KeyError if there is no such column."""
        there = self.columns
        long, _ = (name, "") if name in there else _native.column(name)
        if long in there:
            return self._table.column(long)
        from difflib import get_close_matches

        near = get_close_matches(name.replace(".", "_ms_"), there)
        if near:
            raise KeyError(f"found {name}, did you mean {' or '.join(near)}?")
        return self._table.column(name)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._table.column_names

    @property
    def meaning(self) -> dict[str, str]:
        """Unit and meaning of each column."""
        return {name: f"{unit}: {text}" for name, unit, text in self._table.columns}

    def to_polars(self) -> Any:
        """A polars DataFrame over the same memory."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """A pyarrow table over the same memory."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """A pandas DataFrame with Arrow's types over the same memory; needs pyarrow."""
        import pandas

        return self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict for each row."""
        cells = [self[name] for name in self.columns]
        return [dict(zip(self.columns, row)) for row in zip(*cells)]

    def __repr__(self) -> str:
        return f"<justfull.Table {self._name}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        rows = [[self[name][i] for name in self.columns] for i in range(min(len(self), _SHOWN))]
        head = "".join(f"<th title='{escape(self.meaning[name], quote=True)}'>{escape(name)}</th>"
                       for name in self.columns)
        texts = [["" if cell is None else escape(str(cell)) for cell in row] for row in rows]
        body = "".join("<tr>" + "".join(f"<td style='{_CELL}'>{text}</td>" for text in row) + "</tr>"
                       for row in texts)
        return (f"<div style='overflow-x:auto'><table><thead><tr>{head}</tr></thead>"
                f"<tbody>{body}</tbody></table></div>{escape(repr(self))}")
