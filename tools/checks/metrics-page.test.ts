import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createMetrics } from '@caribou/observability';

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
});
