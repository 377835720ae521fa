import { openWatchedPage } from '../support/chromium.js';
import { runBody } from '../support/client.js';
import { chromiumPath, type OpenConsole, openConsole } from './open-console.js';
import { expectAccessible } from './structure.js';

/** The timeline of a run of 5,000 steps: the run is a real one, whose trace the test makes longer on its way to the page. */

jest.setTimeout(120_000);

const STEPS = 5_000;

interface Trace {
  readonly entries: readonly { readonly seq: number; readonly at: string; readonly type: string }[];
  readonly next: number | null;
}

(chromiumPath === undefined ? describe.skip : describe)('a run of many steps in the console', () => {
  let open: OpenConsole;
  beforeAll(async () => {
    open = await openConsole();
  });
  afterAll(() => open.stop());

  test('is scrolled and searched by keyboard with few elements in the page', async () => {
    const client = open.stack.client();
    const threadId = await client.newThread();
    const { body } = await client.call('POST', `/threads/${threadId}/runs/wait`, runBody('#say short'));
    expect(body).toBeDefined();
    const runs = await client.call<{ run_id: string }[]>('GET', `/threads/${threadId}/runs`);
    const { page, faults } = await openWatchedPage(open.browser);
    await page.route(/\/trace\?/, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, json: longer((await answer.json()) as Trace) });
    });

    await page.goto(`${open.origin}/#/runs/${threadId}/${runs.body[0]?.run_id}`);
    const steps = page.getByRole('listbox', { name: 'Steps' });
    await steps.waitFor();
    expect(await steps.getByRole('option').count()).toBeLessThan(100);

    await steps.focus();
    await page.keyboard.press('End');
    await steps.getByRole('option', { name: `step-${STEPS}` }).waitFor();
    await page.keyboard.press('Home');
    await steps.getByRole('option', { name: 'Admitted' }).waitFor();
    await page.getByLabel('Show').selectOption('Commits');
    expect(await steps.getByRole('option').count()).toBeLessThan(100);
    await expectAccessible(page);
    expect(faults).toEqual([]);
    await page.context().close();
  });
});

/** The trace with so many further commits at its end, in the first page. */
function longer(trace: Trace): Trace {
  const last = trace.entries.at(-1);
  if (last === undefined) return trace;
  const more = Array.from({ length: STEPS }, (_, index) => ({
    ...{ seq: last.seq + index + 1, at: new Date(Date.parse(last.at) + index).toISOString(), type: 'commit' },
    ...{ step: index, checkpoint_id: `checkpoint-${index}`, next: [`step-${index + 1}`], duration_ms: 1, bytes: 100 },
  }));
  return { ...trace, entries: [...trace.entries, ...more] };
}
