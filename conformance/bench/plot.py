"""Plots as SVG, drawn by hand: bars of ratios, and curves of both sides."""

import dataclasses
import math
from xml.sax.saxutils import escape

_COLOURS = {"tensorflow": "#e07b39", "tensorfleet": "#2f6db3"}
_GREY = "#888888"
_FONT = "font-family='sans-serif' font-size='12'"


@dataclasses.dataclass
class Bar:
    name: str
    ratio: float
    target: float | None


@dataclasses.dataclass
class Line:
    side: str
    points: list


def bars(title, rows):
    """Horizontal bars on a logarithmic axis around 1, each with a tick at its target."""
    left, width, height = 240, 440, 18
    low = min([0.1, *[row.ratio for row in rows]]) * 0.8
    high = max([2.0, *[row.ratio for row in rows]]) * 1.1
    scale = lambda ratio: left + width * math.log(ratio / low) / math.log(high / low)
    parts = [_text(left, 20, title, anchor="start", weight="bold")]
    for mark in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10):
        if low <= mark <= high:
            x = scale(mark)
            colour = "#000000" if mark == 1 else "#dddddd"
            parts.append(_line(x, 30, x, 40 + height * len(rows), colour))
            parts.append(_text(x, 54 + height * len(rows), f"{mark:g}", anchor="middle"))
    for index, row in enumerate(rows):
        y = 36 + height * index
        start, end = sorted((scale(row.ratio), scale(1.0)))
        good = row.ratio <= (1.0 if row.target is None else row.target)
        colour = _COLOURS["tensorfleet" if good else "tensorflow"]
        parts.append(_text(left - 8, y + 12, row.name, anchor="end"))
        parts.append(_rect(start, y + 2, max(end - start, 1), height - 5, colour))
        parts.append(_text(left + width + 8, y + 12, f"{row.ratio:.2f}", anchor="start"))
        if row.target is not None:
            x = scale(row.target)
            parts.append(_line(x, y, x, y + height - 1, "#000000", 2))
    return _svg(left + width + 60, 66 + height * len(rows), parts)


def curve(title, lines, x_label, y_label, log_x=False, levels=None):
    """Lines of both sides over a common axis, with horizontal levels such as physical limits."""
    left, top, width, height = 70, 34, 420, 240
    levels = levels or {}
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points] + list(levels.values())
    highest = max(ys) * 1.05
    position = math.log if log_x else float
    low, high = position(min(xs)), position(max(xs))
    to_x = lambda x: left + width * (position(x) - low) / ((high - low) or 1.0)
    to_y = lambda y: top + height * (1 - y / highest)
    parts = [_text(left, 20, title, anchor="start", weight="bold")]
    for mark in _marks(highest):
        parts.append(_line(left, to_y(mark), left + width, to_y(mark), "#dddddd"))
        parts.append(_text(left - 6, to_y(mark) + 4, f"{mark:g}", anchor="end"))
    for x in sorted(set(xs)):
        label = _size(x) if log_x else f"{x:g}"
        parts.append(_text(to_x(x), top + height + 18, label, anchor="middle"))
    parts.append(_text(left + width / 2, top + height + 36, x_label, anchor="middle"))
    parts.append(_text(left - 6, top - 6, y_label, anchor="end"))
    for name, y in levels.items():
        parts.append(_line(left, to_y(y), left + width, to_y(y), _GREY, 1, "4 3"))
        parts.append(_text(left + width, to_y(y) - 4, name, anchor="end"))
    for line in lines:
        colour = _COLOURS[line.side]
        path = " ".join(f"{to_x(x):.1f},{to_y(y):.1f}" for x, y in line.points)
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
        for x, y in line.points:
            parts.append(f"<circle cx='{to_x(x):.1f}' cy='{to_y(y):.1f}' r='3' fill='{colour}'/>")
        last_y = to_y(line.points[-1][1])
        parts.append(_text(left + width + 8, last_y + 4, line.side, anchor="start", fill=colour))
    return _svg(left + width + 90, top + height + 48, parts)


def _marks(highest):
    """About five round numbers between zero and the highest."""
    rough = highest / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
    return [step * index for index in range(int(highest / step) + 1)]


def _size(count):
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= size:
            return f"{count / size:.0f} {unit}"
    return f"{count:g}"


def _text(x, y, text, anchor, weight="normal", fill="#222222"):
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' font-weight='{weight}' "
        f"fill='{fill}' {_FONT}>{escape(text)}</text>"
    )


def _line(x1, y1, x2, y2, colour, width=1, dashes="none"):
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}' "
        f"stroke-width='{width}' stroke-dasharray='{dashes}'/>"
    )


def _rect(x, y, width, height, colour):
    return f"<rect x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height}' fill='{colour}'/>"


def _svg(width, height, parts):
    head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}'>"
    background = f"<rect width='{width:.0f}' height='{height:.0f}' fill='#ffffff'/>"
    return "\n".join([head, background, *parts, "</svg>"]) + "\n"
