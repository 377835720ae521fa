import { waitFor } from '@caribou/testing';
import { newGate } from '../sdk/calls.js';
import { openWatchedPage } from '../support/chromium.js';
import type { Stack } from '../support/stack.js';
import {
  answersOf,
  chromiumPath,
  isDone,
  LOST_SERVER,
  type OpenConsole,
  openConsole,
  send,
  shows,
  times,
} from './open-console.js';

/** Processes are killed while the page streams: the answer is continued in the page, once, and the timeline shows the takeover. */

jest.setTimeout(180_000);

(chromiumPath === undefined ? describe.skip : describe)('the console while processes are killed', () => {
  let open: OpenConsole;

  beforeAll(async () => {
    open = await openConsole({ runners: 2 });
  });
  afterAll(() => open.stop());

  test('gateway and runner are killed with -9: the answer is there once, and the timeline names the takeover', async () => {
    const { stack } = open;
    const { page, faults } = await openWatchedPage(open.browser, { expected: LOST_SERVER });
    await page.goto(open.origin);
    const gate = newGate();
    await send(page, `#hold ${gate} after 3\n#say Seven swift swans swim south slowly.`);
    await shows(page, 'Seven swift');

    const runner = await runnerWithRun(stack);
    await Promise.all([open.replaceGateway(), runner.kill9()]);
    stack.model.release(gate);

    await shows(page, 'Seven swift swans swim south slowly.');
    await isDone(page);
    expect(times(await answersOf(page), 'Seven swift')).toBe(1);

    await page.getByRole('link', { name: 'Explain this run' }).click();
    await page.getByRole('option', { name: /Taken over/ }).click();
    const details = page.getByRole('region', { name: 'Details' });
    await details.getByRole('heading', { name: 'Taken over' }).waitFor();
    expect(await details.textContent()).toContain('agent-runner@');
    expect(await page.getByRole('option', { name: /End: success/ }).count()).toBe(1);
    const address = page.url();

    await page.goto('about:blank');
    await page.goto(address);
    await details.getByRole('heading', { name: 'Taken over' }).waitFor({ timeout: 30_000 });
    expect(faults).toEqual([]);
    await page.context().close();
  });
});

/** The runner that executes a run. */
async function runnerWithRun(stack: Stack): Promise<Stack['runners'][number]> {
  const busy = async () => {
    const used = await Promise.all(stack.runners.map(activeRuns));
    return stack.runners[used.findIndex((runs) => runs > 0)];
  };
  return await waitFor(busy, { what: 'a runner with a run' });
}

/** From its metrics. */
async function activeRuns({ healthPort }: Stack['runners'][number]): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${healthPort}/metrics`, { signal: AbortSignal.timeout(5_000) }).catch(
    () => undefined,
  );
  const figure = /^caribou_active_runs\{[^}]*\} (\d+)/m.exec((await answer?.text()) ?? '');
  return Number(figure?.[1] ?? 0);
}
