"""How results show in a notebook, and as a table of any dataframe library."""

from collections.abc import Sequence
from typing import Any


def card(title: str, rows: Sequence[Sequence[Any]]) -> str:
    """A small HTML table under its title. Every text is escaped."""
    import html

    cell = '<td style="text-align:left">{}</td>'.format
    lines = ["<tr>" + "".join(cell(html.escape(str(word))) for word in row) + "</tr>" for row in rows]
    return f"<div><strong>{html.escape(title)}</strong><table>{''.join(lines)}</table></div>"


class Tabular:
    """What has rows of plain values: it becomes a table of any library, and shows as one in a notebook."""

    def records_of(self) -> list[dict[str, Any]]:
        """The rows, all with the same keys."""
        raise NotImplementedError

    def to_frame(self, backend: Any = "pyarrow") -> Any:
        """The rows as a table of "pandas", "polars", "pyarrow" or whatever else narwhals can make.

        Examples
        --------
        >>> import shoal
        >>> shoal.methods().to_frame("pyarrow").column_names[:2]
        ['key', 'title']
        """
        import narwhals as nw

        rows = self.records_of()
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return nw.from_dict(columns, backend=backend).to_native()

    def _repr_html_(self) -> str:
        rows = self.records_of()
        cells = [[f"{v:.4g}" if isinstance(v, float) else v for v in row.values()] for row in rows]
        return card(type(self).__name__, [list(rows[0]), *cells])
