"""A figure of the transfers: how long each peer took, in units of one bare hop."""

from xml.sax.saxutils import escape

COLORS = {"hoplite": "#0b6e4f", "mpich ofi": "#d08c60", "mpich ucx": "#b5651d", "gloo": "#5b7db1",
          "openmpi": "#8e5ea2"}
OTHER = "#8a8a8a"
LEFT, WIDTH, RIGHT = 330, 420, 60
BAR, GAP, TOP, BOTTOM = 16, 18, 54, 34
STYLE = "font-family:sans-serif;font-size:12px;fill:#222"


def draw(rows):
    """SVG: for each row a bar for each series, with a line at 1.00."""
    rows = [row for row in rows if any(row.ratio(series) for series in compared(row))]
    longest = max((row.ratio(series) or 0 for row in rows for series in compared(row)), default=1.0)
    scale = WIDTH / max(longest, 1.2)
    height = TOP + BOTTOM + sum(GAP + BAR * len(compared(row)) for row in rows)
    parts = [text(LEFT, 22, "Until the last one has everything; one bare hop of the same size = 1.00", size=14)]
    y = TOP
    for row in rows:
        parts.append(text(LEFT - 12, y + BAR * len(compared(row)) / 2 + 4, row.case, anchor="end"))
        for series in compared(row):
            parts.append(bar(y, row.ratio(series), scale, series))
            y += BAR
        y += GAP
    parts.append(reference_line(scale, height))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT + 110}" height="{height}" '
            f'style="background:white">\n' + "\n".join(parts) + "\n</svg>\n")


def compared(row):
    return [series for series in row.series if series != row.reference]


def bar(y, ratio, scale, series):
    if ratio is None:
        return text(LEFT + 4, y + BAR - 4, f"{series}: failed")
    width = ratio * scale
    return (f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" '
            f'fill="{COLORS.get(series, OTHER)}"/>' + text(LEFT + width + 6, y + BAR - 4, f"{ratio:.2f} {series}"))


def reference_line(scale, height):
    x = LEFT + scale
    return (f'<line x1="{x:.1f}" y1="{TOP - 10}" x2="{x:.1f}" y2="{height - BOTTOM + 4}" stroke="#222" '
            f'stroke-dasharray="4 3"/>' + text(x, height - 12, "one bare hop", anchor="middle"))


def text(x, y, content, anchor="start", size=12):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{STYLE};font-size:{size}px">'
            f"{escape(content)}</text>")
