import type { Page } from 'playwright-core';

/** Times between two frames of a page, and its longest task without a pause, in milliseconds. */
export interface FrameTimes {
  readonly frames: readonly number[];
  readonly longestTaskMs: number;
}

interface Probe {
  readonly frames: number[];
  longestTaskMs: number;
  stop: () => void;
}

type Probed = typeof globalThis & { caribouProbe?: Probe };

/** Records the frames of a page while something happens in it. */
export async function framesDuring(page: Page, action: () => Promise<unknown>): Promise<FrameTimes> {
  await page.evaluate(startProbe);
  await action();
  return await page.evaluate(readProbe);
}

/** Runs in the page. */
function startProbe(): void {
  const probe: Probe = { frames: [], longestTaskMs: 0, stop: () => undefined };
  (globalThis as Probed).caribouProbe = probe;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) probe.longestTaskMs = Math.max(probe.longestTaskMs, duration);
  });
  observer.observe({ type: 'longtask' });
  let lastMs = performance.now();
  let isRunning = true;
  const onFrame = (nowMs: number): void => {
    if (!isRunning) return;
    probe.frames.push(nowMs - lastMs);
    lastMs = nowMs;
    requestAnimationFrame(onFrame);
  };
  requestAnimationFrame(onFrame);
  probe.stop = () => {
    isRunning = false;
    observer.disconnect();
  };
}

/** Runs in the page. */
function readProbe(): FrameTimes {
  const probe = (globalThis as Probed).caribouProbe;
  if (probe === undefined) throw new Error('nothing was recorded');
  probe.stop();
  return { frames: probe.frames, longestTaskMs: probe.longestTaskMs };
}

/**
 * Scrolls an element from its top towards its end, a step in each frame.
 *
 * @returns pixels that it was scrolled
 */
export const scrollDown = (page: Page, selector: string, steps: number): Promise<number> =>
  page.evaluate(
    async ({ selector: chosen, steps: count }) => {
      const list = document.querySelector(chosen);
      if (list === null) throw new Error(`the page has no element ${chosen}`);
      const stepPixels = Math.max(200, list.scrollHeight / count);
      for (let step = 0; step < count; step += 1) {
        list.scrollTop += stepPixels;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      return list.scrollTop;
    },
    { selector, steps },
  );
