import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { type Fleet, startFleet } from '../bench/fleet.js';
import { findChromium } from '../bench/console/find-chromium.js';
import { type Scene, scenes } from './scenes.js';

/**
 * `npm run screenshots`: starts the whole system with the scripted model, works with it as people do, and takes the pictures of
 * the README and the docs from the pages as they are then.
 */

const FOLDER = 'docs/images';
const SIZE = { width: 1280, height: 800 };

async function main(): Promise<void> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('there is no program chromium: install it and try again');
  await mkdir(FOLDER, { recursive: true });
  const fleet = await startFleet({ config: 'memory: {debounce_seconds: 1}\n' });
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    const context = await browser.newContext({ viewport: SIZE, colorScheme: 'light', reducedMotion: 'reduce' });
    const page = await context.newPage();
    for (const scene of scenes) await take(scene, page, fleet);
  } finally {
    await browser.close();
    await fleet.stop();
  }
}

async function take(scene: Scene, page: Page, fleet: Fleet): Promise<void> {
  await scene.prepare(page, fleet);
  // Fonts and charts are drawn after the content is there.
  await page.waitForLoadState('networkidle');
  const path = join(FOLDER, `${scene.name}.png`);
  await page.screenshot({ path });
  const { size } = await stat(path);
  process.stdout.write(`${path}: ${Math.round(size / 1_000)} kB\n`);
}

void main();
