import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const PAGE = '<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module" src="/page.js"></script>';

/** A server of one page, whose program is bundled from a source file. */
export interface PageServer {
  readonly origin: string;
  stop(): Promise<void>;
}

/** Bundles the program for a browser. In a process of its own, as the bundler does not work within jest. */
async function bundlePage(entry: string): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'caribou-page-'));
  try {
    const outfile = join(folder, 'page.js');
    await promisify(execFile)(process.execPath, [
      join('e2e', 'protocol', 'browser', 'bundle-page.mjs'),
      entry,
      outfile,
    ]);
    return await readFile(outfile);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function servePage(entry: string): Promise<PageServer> {
  const program = await bundlePage(entry);
  const server = createServer((request, response) => {
    const isProgram = request.url === '/page.js';
    response.setHeader('content-type', isProgram ? 'text/javascript' : 'text/html');
    response.end(isProgram ? program : PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
