import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { REPLY_DESCRIPTOR } from './conversion-job.js';
import { DEFAULT_DOCUMENT_LIMITS } from '../limits.js';
import { startLimited } from './start-limited.js';

/** Tries what a compromised parser would try, and reports the results. */
const probe = (written: string) => `
const { Socket } = require('node:net');
const tried = (act) => { try { act(); return 'done'; } catch (error) { return error.code; } };
const fs = require('node:fs');
const report = {
  environment: Object.keys(process.env),
  read: tried(() => fs.readFileSync('/etc/passwd')),
  write: tried(() => fs.writeFileSync(${JSON.stringify(written)}, 'x')),
  run: tried(() => require('node:child_process').execFileSync('/bin/true')),
};
new Socket({ fd: ${REPLY_DESCRIPTOR} }).end(JSON.stringify(report));
`;

describe('startLimited', () => {
  let root = '';

  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'caribou-limited-')));
  });

  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  test('the process has no environment, reads and writes no file but the code, and starts no program', async () => {
    const folder = join(root, 'dist/libs/documents/src/conversion');
    const program = join(folder, 'probe.js');
    const written = join(folder, 'written');
    mkdirSync(folder, { recursive: true });
    writeFileSync(program, probe(written));

    const child = await startLimited(program, { kind: 'csv', limits: DEFAULT_DOCUMENT_LIMITS });
    const exited = once(child, 'exit');
    const report = await json(child.stdio[REPLY_DESCRIPTOR] as Readable);
    child.stdin?.end();
    await exited;

    const denied = 'ERR_ACCESS_DENIED';
    expect(report).toEqual({ environment: [], read: denied, write: denied, run: denied });
    expect(existsSync(written)).toBe(false);
  });
});
