import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createMetrics, describeMetrics } from '@caribou/observability';

const page = readFileSync(join(__dirname, '..', '..', 'docs', 'operations.md'), 'utf8');

describe('docs/operations.md', () => {
  test('lists every metric with its type, and no other', async () => {
    const text = await createMetrics({ service: 'gateway' }).text();
    const served = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);
    const listed = [...page.matchAll(/^\| `(\w+)` \| (counter|gauge|histogram) \|/gm)].map(
      ([, name, type]) => `${name} ${type}`,
    );

    expect(listed.sort()).toEqual(served.sort());
  });

  test('lists the labels of every metric', () => {
    const listed = [...page.matchAll(/^\| `(\w+)` \| (?:counter|gauge|histogram) \| ([^|]*) \|/gm)].map(
      ([, name = '', column = '']) => `${name}: ${labelsIn(column).join(', ')}`,
    );
    const registered = describeMetrics().map(({ name, labels }) => `${name}: ${[...labels].sort().join(', ')}`);

    expect(listed.sort()).toEqual(registered.sort());
  });
});

/** The labels of a column such as "calls, `tool`, `outcome` (`ok`, `error`)", without their values. */
const labelsIn = (column: string): readonly string[] =>
  [...column.replaceAll(/\([^)]*\)/g, '').matchAll(/`(\w+)`/g)].map(([, label = '']) => label).sort();
