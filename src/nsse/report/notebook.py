"""Show a report in a notebook: the page in a frame, or its image."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

# A larger report would make the notebook too large, so the notebook names the file instead.
INLINE_BYTES = 16_000_000
_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}
_HEIGHT = "46rem"


def report_in_notebook(path: Path, n_bytes: int) -> str:
    """Return HTML for a notebook. The frame of the page cannot access the notebook."""
    name = escape(str(path))
    if not path.is_file():
        return f"<p>The report {name} does not exist any more.</p>"
    if n_bytes > INLINE_BYTES:
        return f"<p>The report has {n_bytes / 1e6:.0f} MB. Open {name} in a browser.</p>"
    kind = _KINDS.get(path.suffix.lower())
    if kind is not None:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
        return f'<img alt="{name}" style="max-width: 100%" src="data:{kind};base64,{data}">'
    page = escape(path.read_text(encoding="utf-8"))
    style = f"width: 100%; height: {_HEIGHT}; border: 0"
    return f'<iframe title="{name}" sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'
