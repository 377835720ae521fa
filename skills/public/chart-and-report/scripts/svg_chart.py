#!/usr/bin/env python3
"""Draws a bar, line or pie chart of a CSV file as SVG: first column labels, further columns series. Standard library only."""

import argparse
import csv
import math
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 960, 540
LEFT, RIGHT, TOP, BOTTOM = 90, 30, 90, 90
COLOURS = ['#2b6cb0', '#dd6b20', '#2f855a', '#805ad5', '#c53030', '#4a5568']
MAX_ROWS, MAX_SERIES = 200, 6


def number(text):
    cleaned = text.strip().replace('\u00a0', '')
    if cleaned.count(',') == 1 and '.' not in cleaned:
        cleaned = cleaned.replace(',', '.')
    try:
        value = float(cleaned.replace(',', ''))
    except ValueError:
        sys.exit(f'{text!r} is not a number')
    if not math.isfinite(value):
        sys.exit(f'{text!r} is not a finite number')
    return value


def read(path):
    with open(path, encoding='utf-8-sig', newline='') as file:
        rows = [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    if len(rows) < 2 or len(rows[0]) < 2:
        sys.exit('the file needs a line of headings, and a column of labels before one of numbers')
    head, body = rows[0], rows[1:]
    if len(body) > MAX_ROWS or len(head) - 1 > MAX_SERIES:
        sys.exit(f'at most {MAX_ROWS} rows and {MAX_SERIES} series can be told apart: aggregate first')
    if any(len(row) != len(head) for row in body):
        sys.exit('all lines must have as many cells as the first')
    labels = [row[0].strip() for row in body]
    series = [(head[at].strip(), [number(row[at]) for row in body]) for at in range(1, len(head))]
    return labels, series


def nice_step(span):
    raw = span / 5 or 1
    power = 10 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= raw)


def text(x, y, words, size=14, anchor='middle', extra=''):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {extra}>{escape(words)}</text>'


class Scale:
    """Values to heights; bars begin at zero."""

    def __init__(self, values, with_zero):
        low, high = min(values), max(values)
        if with_zero:
            low, high = min(low, 0), max(high, 0)
        self.step = nice_step(high - low)
        self.low = math.floor(low / self.step) * self.step
        self.high = max(math.ceil(high / self.step) * self.step, self.low + self.step)

    def y(self, value):
        return HEIGHT - BOTTOM - (value - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)

    def grid(self):
        for at in range(round((self.high - self.low) / self.step) + 1):
            value = self.low + at * self.step
            y = self.y(value)
            colour = '#4a5568' if abs(value) < self.step / 1e6 else '#e2e8f0'
            yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}"/>'
            yield text(LEFT - 8, y + 5, f'{value:,.10g}', anchor='end')


def label_row(labels, place):
    every = math.ceil(len(labels) / 24)
    for at, label in enumerate(labels):
        if at % every:
            continue
        x, y = place(at), HEIGHT - BOTTOM + 20
        if len(labels) > 8 or max(map(len, labels)) > 12:
            yield text(x, y, label[:24], anchor='end', extra=f'transform="rotate(-35 {x:.1f} {y:.1f})"')
        else:
            yield text(x, y, label)


def bars(labels, series):
    scale = Scale([value for _, values in series for value in values], with_zero=True)
    slot = (WIDTH - LEFT - RIGHT) / len(labels)
    width = slot * 0.8 / len(series)
    yield from scale.grid()
    for nth, (_, values) in enumerate(series):
        for at, value in enumerate(values):
            x = LEFT + at * slot + slot * 0.1 + nth * width
            top, foot = min(scale.y(value), scale.y(0)), max(scale.y(value), scale.y(0))
            yield f'<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{foot - top:.1f}" fill="{COLOURS[nth]}"/>'
            if len(labels) * len(series) <= 16:
                yield text(x + width / 2, top - 6, f'{value:,.6g}', size=13)
    yield from label_row(labels, lambda at: LEFT + (at + 0.5) * slot)


def lines(labels, series):
    scale = Scale([value for _, values in series for value in values], with_zero=False)
    gap = (WIDTH - LEFT - RIGHT) / max(len(labels) - 1, 1)
    yield from scale.grid()
    for nth, (_, values) in enumerate(series):
        points = ' '.join(f'{LEFT + at * gap:.1f},{scale.y(value):.1f}' for at, value in enumerate(values))
        yield f'<polyline points="{points}" fill="none" stroke="{COLOURS[nth]}" stroke-width="3"/>'
    yield from label_row(labels, lambda at: LEFT + at * gap)


def pie(labels, series):
    values = series[0][1]
    total = sum(values)
    if len(series) > 1 or len(values) > len(COLOURS) or min(values) < 0 or total <= 0:
        sys.exit(f'a pie has one series of at most {len(COLOURS)} values, none below zero and not all zero')
    middle, radius, angle = (360, 300), 190, -math.pi / 2
    for nth, (label, value) in enumerate(zip(labels, values)):
        share = value / total
        end = angle + share * 2 * math.pi
        if share > 0.9999:
            yield f'<circle cx="{middle[0]}" cy="{middle[1]}" r="{radius}" fill="{COLOURS[nth]}"/>'
        elif share > 0:
            (x1, y1), (x2, y2) = ((middle[0] + radius * math.cos(a), middle[1] + radius * math.sin(a)) for a in (angle, end))
            large = int(share > 0.5)
            yield (
                f'<path d="M{middle[0]},{middle[1]} L{x1:.1f},{y1:.1f} A{radius},{radius} 0 {large} 1 {x2:.1f},{y2:.1f} Z" '
                f'fill="{COLOURS[nth]}" stroke="white"/>'
            )
        y = 200 + nth * 34
        yield f'<rect x="620" y="{y - 14}" width="16" height="16" fill="{COLOURS[nth]}"/>'
        yield text(646, y, f'{label[:28]}: {share:.1%}', anchor='start')
        angle = end


def legend(series):
    if len(series) < 2:
        return
    x = LEFT
    for nth, (name, _) in enumerate(series):
        yield f'<rect x="{x}" y="56" width="14" height="14" fill="{COLOURS[nth]}"/>'
        yield text(x + 20, 68, name[:24], anchor='start')
        x += 40 + 8 * min(len(name), 24)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('file')
    parser.add_argument('--kind', choices=['bar', 'line', 'pie'], default='bar')
    parser.add_argument('--title', default='')
    parser.add_argument('--unit', default='')
    parser.add_argument('--out', required=True)
    options = parser.parse_args()
    labels, series = read(options.file)
    parts = {'bar': bars, 'line': lines, 'pie': pie}[options.kind](labels, series)
    body = list(parts) + ([] if options.kind == 'pie' else list(legend(series)))
    title = text(LEFT, 36, options.title, size=22, anchor='start', extra='font-weight="bold"')
    unit = text(LEFT, TOP - 12, options.unit, size=13, anchor='end')
    with open(options.out, 'w', encoding='utf-8') as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'font-family="system-ui, sans-serif" fill="#1a202c">\n<rect width="100%" height="100%" fill="white"/>\n'
            + '\n'.join([title, unit, *body])
            + '\n</svg>\n'
        )
    print(f'{options.out}: {options.kind}, {len(labels)} labels, {len(series)} series')


if __name__ == '__main__':
    main()
