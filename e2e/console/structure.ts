import { writeFileSync, readFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { axeFaults } from '../support/chromium.js';

/**
 * Compares what a page consists of, as screen readers see it, with what is recorded in `structures/`: roles and names in their order,
 * without ids, figures and times. `WRITE_GENERATED=1` records what the pages are now.
 */

const folder = join(__dirname, 'structures');

/** What differs from run to run, and its replacement. */
const volatile: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID'],
  [/\b[\w-]+@[\w.-]+ \(pid \d+\)/g, 'PROCESS'],
  [/\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d+, \d{4}(, \d+:\d+(:\d+)? [AP]M)?/g, 'TIME'],
  [/\b\d+:\d+(:\d+)?( [AP]M)?/g, 'TIME'],
  [/\+?\b\d[\d,.]*(e[+-]\d+)? ?(ms|s|min|h|d|%|B|KiB|MiB|GiB|kB)\b/g, 'N UNIT'],
  [/\b\d[\d,.]*\b/g, 'N'],
  // Times as "N min N s".
  [/N UNIT( N UNIT)+/g, 'N UNIT'],
];

/** The structure of an element of a page, without what differs from run to run. */
export async function structureOf(page: Page, selector = 'main'): Promise<string> {
  const snapshot = await page.locator(selector).ariaSnapshot();
  return `${volatile.reduce((text, [pattern, replacement]) => text.replaceAll(pattern, replacement), snapshot)}\n`;
}

/** @throws {Error} when the structure of the page is not the recorded one */
export async function expectStructure(page: Page, name: string, selector = 'main'): Promise<void> {
  const path = join(folder, `${name}.yaml`);
  const structure = await structureOf(page, selector);
  if (process.env['WRITE_GENERATED'] === '1') {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, structure);
  }
  expect(structure).toBe(readFileSync(path, 'utf8'));
}

/** axe finds nothing serious in the page as it is now. */
export async function expectAccessible(page: Page): Promise<void> {
  expect(await axeFaults(page)).toEqual([]);
}
