#!/usr/bin/env python3
"""Describes the columns of a CSV, TSV, JSON lines or SQLite file. Needs the standard library only."""

import argparse
import collections
import csv
import datetime
import json
import sqlite3
import statistics
import sys

MAX_ROWS = 1_000_000
MAX_DISTINCT = 50_000


def read_rows(path, delimiter, table):
    """Yields a dict per row."""
    with open(path, 'rb') as file:
        head = file.read(16)
    if head.startswith(b'SQLite format 3'):
        yield from read_sqlite(path, table)
    elif path.endswith(('.jsonl', '.ndjson')):
        with open(path, encoding='utf-8-sig') as file:
            for line in file:
                if line.strip():
                    yield json.loads(line)
    else:
        yield from read_csv(path, delimiter)


def read_csv(path, delimiter):
    with open(path, encoding='utf-8-sig', errors='replace', newline='') as file:
        sample = file.read(65_536)
        file.seek(0)
        if delimiter is None:
            try:
                delimiter = csv.Sniffer().sniff(sample, delimiters=',;\t|').delimiter
            except csv.Error:
                delimiter = ','
        yield from csv.DictReader(file, delimiter=delimiter)


def read_sqlite(path, table):
    connection = sqlite3.connect(f'file:{path}?mode=ro', uri=True)
    tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table' order by name")]
    if table is None:
        print(f'tables: {", ".join(tables) or "none"}')
        table = tables[0] if tables else sys.exit('the database has no table')
    elif table not in tables:
        sys.exit(f'there is no table {table}; there are: {", ".join(tables)}')
    print(f'table: {table}')
    cursor = connection.execute('select * from "%s"' % table.replace('"', '""'))
    names = [column[0] for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row))


def as_number(text):
    if isinstance(text, bool):
        return None
    if isinstance(text, (int, float)):
        return float(text)
    cleaned = text.strip().replace('\u00a0', '').rstrip('%')
    if cleaned.count(',') == 1 and '.' not in cleaned:
        cleaned = cleaned.replace(',', '.')
    elif cleaned.count(',') >= 1 and '.' in cleaned:
        cleaned = cleaned.replace(',', '')
    try:
        return float(cleaned)
    except ValueError:
        return None


def is_date(text):
    for form in ('%Y-%m-%d', '%d.%m.%Y', '%m/%d/%Y', '%Y-%m-%dT%H:%M:%S', '%Y-%m-%d %H:%M:%S'):
        try:
            datetime.datetime.strptime(str(text).strip()[:19], form)
            return True
        except ValueError:
            pass
    return False


class Column:
    def __init__(self):
        self.blank = 0
        self.numbers = []
        self.kinds = collections.Counter()
        self.values = collections.Counter()
        self.uncounted = False

    def add(self, value):
        if value is None or str(value).strip() == '':
            self.blank += 1
            return
        number = as_number(value) if not isinstance(value, (list, dict)) else None
        if number is not None:
            self.numbers.append(number)
        self.kinds['number' if number is not None else 'date' if is_date(value) else 'text'] += 1
        text = str(value).strip()
        if text in self.values or len(self.values) < MAX_DISTINCT:
            self.values[text] += 1
        else:
            self.uncounted = True

    def lines(self, rows):
        filled = rows - self.blank
        distinct = f'{"more than " if self.uncounted else ""}{len(self.values)}'
        kinds = ', '.join(f'{kind} {count}' for kind, count in self.kinds.most_common())
        yield f'filled {filled} of {rows}, distinct {distinct}, kinds: {kinds or "none"}'
        if len(self.numbers) > filled / 2:
            numbers = self.numbers
            spread = statistics.pstdev(numbers) if len(numbers) > 1 else 0
            yield (
                f'min {min(numbers):g}, median {statistics.median(numbers):g}, mean {statistics.fmean(numbers):g}, '
                f'max {max(numbers):g}, standard deviation {spread:g}, sum {sum(numbers):g}'
            )
        if len(self.values) < max(filled, 2):
            top = ', '.join(f'{text[:40]!r} {count}' for text, count in self.values.most_common(5))
            yield f'most frequent: {top}'
        if len(self.kinds) > 1:
            yield 'odd: values of several kinds'
        if 0 < self.blank:
            yield f'odd: {self.blank} blank'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('file')
    parser.add_argument('--delimiter')
    parser.add_argument('--table')
    options = parser.parse_args()
    columns = collections.defaultdict(Column)
    seen = set()
    rows = duplicates = 0
    for row in read_rows(options.file, options.delimiter, options.table):
        if rows == MAX_ROWS:
            print(f'only the first {MAX_ROWS} rows were read')
            break
        rows += 1
        for name, value in row.items():
            columns['(values behind the last column)' if name is None else name].add(value)
        mark = hash(json.dumps(row, sort_keys=True, default=str))
        duplicates += mark in seen
        seen.add(mark)
    print(f'{rows} rows, {len(columns)} columns, {duplicates} rows that repeat an earlier one')
    for name, column in columns.items():
        print(f'\n{name}')
        for line in column.lines(rows):
            print(f'  {line}')


if __name__ == '__main__':
    main()
