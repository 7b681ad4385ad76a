"""Draws docs/img/optimality.svg: published figures beside the proven bounds.

Run: python docs/draw_optimality.py

Needs ../shared/published. The bounds are the output of `python -m benchmarks.bounds`.
"""

from __future__ import annotations

import csv
from pathlib import Path

HERE = Path(__file__).resolve().parent
PUBLISHED = HERE.parents[1] / "shared" / "published" / "information_loss.csv"
#: table: {k: (proven bound, least loss known)} in percent
CELLS = {
    "tarragona": {
        3: (14.4588, 14.4674),
        4: (17.0699, 17.0894),
        5: (20.1428, 20.1523),
        10: (29.5803, 30.1162),
    },
    "census": {3: (4.6644, 4.6680), 4: (6.0213, 6.0297), 5: (7.2288, 7.259), 10: (10.9258, 11.3596)},
    "eia": {3: (0.3425, 0.3489), 4: (0.4775, 0.4830), 5: (0.6893, 0.7294), 10: (1.7737, 1.9317)},
}
LEFT, WIDTH, ROW, TOP = 150, 620, 30, 64
LOW, HIGH = 0.4, 1.6  # loss as a multiple of the bound


def ten_columns(line: dict[str, str]) -> bool:
    """TFRP's figures on EIA are of a table with ten columns, not eleven."""
    return line["dataset"] == "eia" and line["method"].startswith("TFRP")


def place(ratio: float) -> float:
    return LEFT + WIDTH * (min(HIGH, max(LOW, ratio)) - LOW) / (HIGH - LOW)


def draw() -> str:
    with open(PUBLISHED) as file:
        published = list(csv.DictReader(file))
    cells = [(name, k, *figures) for name, ks in CELLS.items() for k, figures in ks.items()]
    height = TOP + ROW * len(cells) + 56
    one = place(1.0)
    bottom = TOP + ROW * len(cells)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 30} {height}" '
        'font-family="sans-serif" font-size="13">',
        "<title>Published information loss against proven lower bounds</title>",
        f'<rect width="{LEFT + WIDTH + 30}" height="{height}" fill="white"/>',
        f'<rect x="{LEFT}" y="{TOP - 14}" width="{one - LEFT:.1f}" height="{bottom - TOP + 14}" '
        'fill="#fbe9e7"/>',
        f'<text x="{(LEFT + one) / 2:.1f}" y="24" text-anchor="middle" fill="#b71c1c">'
        "no partition can be here</text>",
        f'<line x1="{one:.1f}" x2="{one:.1f}" y1="{TOP - 18}" y2="{bottom}" '
        'stroke="#b71c1c" stroke-width="2"/>',
        f'<text x="{one:.1f}" y="{TOP - 24}" text-anchor="middle" fill="#b71c1c">bound</text>',
    ]
    for row, (name, k, bound, known) in enumerate(cells):
        y = TOP + ROW * row + 8
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{name.title()}, k = {k}</text>')
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}" stroke="#e0e0e0"/>')
        for line in published:
            if line["dataset"] == name and line["k"] == str(k) and not ten_columns(line):
                ratio = float(line["information_loss_percent"]) / bound
                impossible = ratio < 1
                colour = "#d32f2f" if impossible else "#78909c"
                label = f"{line['method']}: {line['information_loss_percent']} %"
                x = place(ratio)
                if ratio <= HIGH:
                    parts.append(
                        f'<circle cx="{x:.1f}" cy="{y}" r="{5 if impossible else 3.5}" fill="{colour}" '
                        f'fill-opacity="0.7"><title>{label}</title></circle>'
                    )
        x = place(known / bound)
        parts.append(
            f'<path d="M{x:.1f} {y - 8}L{x + 5:.1f} {y}L{x:.1f} {y + 8}L{x - 5:.1f} {y}Z" fill="#2e7d32">'
            f"<title>least loss known: {known} %</title></path>"
        )
    for ratio in (0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6):
        parts.append(f'<text x="{place(ratio):.1f}" y="{bottom + 16}" text-anchor="middle">{ratio:g}</text>')
    parts.append(
        f'<text x="{LEFT + WIDTH / 2}" y="{bottom + 38}" text-anchor="middle">'
        "information loss as a multiple of the bound (grey: published, red: published but impossible, "
        "green: least known)</text></svg>"
    )
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    target = HERE / "img" / "optimality.svg"
    target.write_text(draw())
    print(target)
