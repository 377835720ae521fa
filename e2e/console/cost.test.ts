import type { Page } from 'playwright-core';
import { axeFaults, openWatchedPage } from '../support/chromium.js';
import { type ApiClient, runBody } from '../support/client.js';
import { nonce } from '../support/stack.js';
import { taskLine, WITH_SUBAGENTS } from '../support/task-client.js';
import { answersOf, chromiumPath, type OpenConsole, openConsole, shows } from './open-console.js';

/** What answers and conversations cost, in a real browser, against what the ledger charged. */

jest.setTimeout(180_000);

if (chromiumPath === undefined) console.warn('skipped: costs in a browser (no program chromium)');

const CONFIG = `models:
  - name: large
    model: demo-large
    pricing: {input: 2, cached_input: 0.5, output: 8}
  - name: free
    model: demo-free
`;
const CACHED_SHARE = 0.6;

interface Counted {
  readonly type: string;
  readonly usage_metadata?: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly input_token_details?: { readonly cache_read?: number };
  };
}

/** The cost of an answer by its tokens, with two significant digits as the page shows it. */
function shownCost({ usage_metadata: usage }: Counted): number {
  if (usage === undefined) throw new Error('the answer has no usage');
  const cached = usage.input_token_details?.cache_read ?? 0;
  return twoDigits(((usage.input_tokens - cached) * 2 + cached * 0.5 + usage.output_tokens * 8) / 1e6);
}
const twoDigits = (cost: number): number => Number(cost.toPrecision(2));
const costsIn = (text: string): number[] => [...text.matchAll(/[Cc]ost \$([\d.]+)/g)].map((match) => Number(match[1]));

(chromiumPath === undefined ? describe.skip : describe)('the cost', () => {
  let open: OpenConsole;
  let client: ApiClient;
  beforeAll(async () => {
    open = await openConsole({ config: CONFIG, pools: 1, model: { cachedShare: CACHED_SHARE } });
    client = open.stack.client();
  });
  afterAll(() => open.stop());

  async function run(threadId: string, script: string, more: object = {}): Promise<readonly Counted[]> {
    const body = { ...runBody(`${nonce()}\n${script}`), ...more };
    const reply = await client.call<{ messages: Counted[] }>('POST', `/threads/${threadId}/runs/wait`, body);
    expect(reply.status).toBe(200);
    return reply.body.messages.filter(({ type }) => type === 'ai');
  }

  async function costOf(threadId: string): Promise<number | null> {
    const { body } = await client.call<{ cost: number | null; currency: string | null }>(
      'GET',
      `/threads/${threadId}/token-usage`,
    );
    expect(body.currency).toBe('USD');
    return body.cost;
  }

  async function charged(agent: string): Promise<number> {
    const { body } = await client.call<{ series: { agent: string; cost: number }[] }>('GET', '/usage?group=agent');
    return body.series.find((row) => row.agent === agent)?.cost ?? 0;
  }

  async function openUsage(page: Page): Promise<string> {
    await page.getByRole('button', { name: 'Files, plan and history' }).click();
    await page.getByRole('tab', { name: 'Usage', exact: true }).click();
    const panel = page.getByRole('tabpanel', { name: 'Usage', exact: true });
    await panel.getByRole('table').first().waitFor();
    return panel.innerText();
  }

  test('of each answer and of the conversation is that which was charged, with cached tokens', async () => {
    const threadId = await client.newThread();
    const before = await charged('lead_agent');
    const answers = await run(threadId, '#say First.\n#+tool bash {"command":"echo done"}\n#say Second.');
    const whole = await costOf(threadId);
    expect(whole).toBeGreaterThan(0);
    expect(whole).toBeCloseTo((await charged('lead_agent')) - before, 9);

    const { page, faults } = await openWatchedPage(open.browser);
    await page.goto(`${open.origin}/#/threads/${threadId}`);
    await shows(page, 'cost $');
    expect(costsIn(await answersOf(page))).toEqual(answers.map(shownCost));
    expect(answers).toHaveLength(2);
    expect(costsIn(await openUsage(page))).toEqual([twoDigits(whole ?? 0)]);
    expect(await axeFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
    await page.context().close();
  });

  test('of an answer is without its subagents, whose cost the conversation has', async () => {
    const threadId = await client.newThread();
    await run(threadId, `${taskLine('#say found')}\n#say Done.`, WITH_SUBAGENTS);
    const { page } = await openWatchedPage(open.browser);
    await page.goto(`${open.origin}/#/threads/${threadId}`);
    await shows(page, 'without subagents');
    const shown = costsIn(await answersOf(page));
    expect(shown).toHaveLength(2);
    const whole = (await costOf(threadId)) ?? 0;
    expect(shown.reduce((sum, cost) => sum + cost, 0)).toBeLessThan(whole);
    expect(whole).toBeGreaterThanOrEqual(await charged('general-purpose'));
    await page.context().close();
  });

  test('is not shown of a model without prices', async () => {
    const threadId = await client.newThread();
    await run(threadId, '#say For free.', { context: { model_name: 'free' } });
    const { page } = await openWatchedPage(open.browser);
    await page.goto(`${open.origin}/#/threads/${threadId}`);
    await shows(page, 'tokens in');
    expect(await answersOf(page)).not.toContain('cost');
    await page.context().close();
  });
});
