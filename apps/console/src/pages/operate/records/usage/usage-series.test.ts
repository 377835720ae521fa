import type { UsageEntry } from '@caribou/contracts';
import { usageCsv } from './usage-csv.js';
import { daysBetween, usageChart, usageTotals } from './usage-series.js';

const texts = { noKey: 'no key', others: 'others' };

const entry = (more: Partial<UsageEntry>): UsageEntry => ({
  ...{ calls: 1, input_tokens: 10, cached_input_tokens: 2, cache_write_tokens: 0, output_tokens: 5 },
  ...{ reasoning_tokens: 1, cost: 0.5 },
  ...more,
});

describe(daysBetween, () => {
  test('has every day, over the end of a month and a leap day', () => {
    expect(daysBetween('2028-02-27', '2028-03-01')).toEqual(['2028-02-27', '2028-02-28', '2028-02-29', '2028-03-01']);
    expect(daysBetween('2026-03-02', '2026-03-01')).toEqual([]);
  });
});

describe(usageChart, () => {
  const days = daysBetween('2026-03-01', '2026-03-03');

  test('has a value for each day, also for those without usage', () => {
    const entries = [
      entry({ day: '2026-03-01', user: 'alice' }),
      entry({ day: '2026-03-03', user: 'alice', calls: 4 }),
      entry({ day: '2026-03-03', user: 'bob' }),
      entry({ day: '2025-01-01', user: 'carol' }),
    ];
    expect(usageChart(entries, { days, by: 'user', metric: 'calls', texts })).toEqual({
      days,
      lines: [
        { name: 'alice', values: [1, 0, 4] },
        { name: 'bob', values: [0, 0, 1] },
      ],
    });
  });

  test('joins what is less than the highest six, and loses nothing', () => {
    const entries = Array.from({ length: 9 }, (_, at) =>
      entry({ day: '2026-03-02', key: at === 0 ? null : `k${at}`, cost: at + 1 }),
    );
    const { lines } = usageChart(entries, { days, by: 'key', metric: 'cost', texts });
    expect(lines.map(({ name, values }) => [name, values[1]])).toEqual([
      ...[9, 8, 7, 6, 5, 4].map((cost) => [`k${cost - 1}`, cost]),
      ['others', 3 + 2 + 1],
    ]);
  });

  test('sums of the table are those of the chart', () => {
    const entries = [entry({ user: 'bob', cost: 2 }), entry({ user: 'alice' }), entry({ user: 'bob', cost: 1 })];
    expect(usageTotals(entries, { by: 'user', metric: 'cost', texts })).toMatchObject([
      { name: 'bob', cost: 3, calls: 2, input_tokens: 20, reasoning_tokens: 2 },
      { name: 'alice', cost: 0.5, calls: 1 },
    ]);
  });
});

describe(usageCsv, () => {
  test('quotes what needs it, leaves out groups that were not asked for, and writes no formula', () => {
    const entries = [
      entry({ day: '2026-03-01', model: 'a "large", one' }),
      entry({ day: '2026-03-02', model: '=HYPERLINK("http://evil")' }),
    ];
    expect(usageCsv(entries)).toBe(
      [
        'day,model,calls,input_tokens,cached_input_tokens,cache_write_tokens,output_tokens,reasoning_tokens,cost',
        '2026-03-01,"a ""large"", one",1,10,2,0,5,1,0.5',
        '2026-03-02,"\'=HYPERLINK(""http://evil"")",1,10,2,0,5,1,0.5',
        '',
      ].join('\r\n'),
    );
  });
});
