import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, loadConfig } from '@caribou/config';
import { commandIdentity, silentLogger, systemClock } from '@caribou/core';
import { sandboxMounts, threadFiles, WorkspaceQuota } from '@caribou/files';
import { type SandboxDriver, sandboxDrivers, sandboxSettings } from '@caribou/sandbox';
import type { AuditLine } from '@caribou/state';
import { waitFor } from '@caribou/testing';
import { EgressTrail } from './egress-trail.js';
import { type SandboxEgress, createSandboxEgress } from './sandbox-egress.js';

/** Asks the proxy of the sandbox for a connection and prints its answer; bash has sockets of its own. */
const connectTo = (target: string): string =>
  `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT ${target} HTTP/1.1\\r\\n\\r\\n' >&3; head -n 1 <&3`;

describe('sandboxEgress', () => {
  let home: string;
  let config: Config;
  let driver: SandboxDriver | undefined;
  let egress: SandboxEgress | undefined;
  const lines: AuditLine[] = [];
  const sandbox = { sandboxId: 'caribou-egress', managerId: 'm1', userId: 'default', threadId: 't1' };

  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'caribou-egress-'));
    const allow = ['localhost', 'Metadata.Google.Internal.', '169.254.169.254', '[::1]'];
    const network = { allow, allow_private: ['10.0.0.0/8'] };
    writeFileSync(join(home, 'config.yaml'), JSON.stringify({ sandbox: { driver: 'bwrap', network } }));
    config = loadConfig({ CARIBOU_HOME: home }, home);
  });
  afterAll(async () => {
    await driver?.remove(sandbox);
    egress?.close();
    rmSync(home, { recursive: true, force: true });
  });

  test('takes a sandbox no further than its rules, nor to an address that is not for everyone, and writes it down', async () => {
    const trail = { record: (line: AuditLine) => void lines.push(line) };
    const options = { managerId: 'm1', trail, clock: systemClock, logger: silentLogger };
    egress = createSandboxEgress(config.sandbox.network, new EgressTrail(options));
    const quota = new WorkspaceQuota(threadFiles(home, commandIdentity()), config.sandbox.limits);
    driver = await sandboxDrivers(
      sandboxSettings(config.sandbox, {
        homeDir: home,
        runDir: join(home, 'run'),
        mounts: sandboxMounts(home),
        ...(egress === undefined ? {} : { network: egress.network }),
      }),
      systemClock,
      quota,
    ).forNewThread();
    await driver.create(sandbox, { fresh: true });
    const targets = ['evil.test:443', 'localhost:80', '169.254.169.254:80', '[::1]:80', '127.0.0.1:6379'];
    const command = targets.map((target) => `(${connectTo(target)})`).join('; ');
    const limits = { timeoutMs: 30_000, maxOutputBytes: 8192 };

    const { stdout } = await driver.exec(sandbox, { command, ...limits }, new AbortController().signal);

    expect(stdout.split('\r\n').map((line) => line.trim())).toEqual([
      'HTTP/1.1 403 evil.test:443 is not on the allow-list',
      'HTTP/1.1 403 localhost:80 leads to an address that may not be reached',
      'HTTP/1.1 403 169.254.169.254:80 leads to an address that may not be reached',
      'HTTP/1.1 403 [::1]:80 leads to an address that may not be reached',
      'HTTP/1.1 403 127.0.0.1:6379 is not on the allow-list',
      '',
    ]);
    await waitFor(() => lines.length === targets.length, { what: 'the lines' });
    expect(lines.map(({ operation, thread_id, what, verdict }) => [operation, thread_id, what, verdict])).toEqual(
      targets.map((target) => ['egress', 't1', `CONNECT ${target}`, 'refused']),
    );
  }, 60_000);

  test('does not exist when no host is allowed', () => {
    const none = createSandboxEgress({ allow: [], allowPrivate: ['10.0.0.0/8'] }, { record: () => undefined });

    expect(none).toBeUndefined();
    const surroundings = { homeDir: home, runDir: join(home, 'run'), mounts: sandboxMounts(home) };
    expect(sandboxSettings(config.sandbox, surroundings)).not.toHaveProperty('network');
  });

  test('says which rule or range is none', () => {
    const make = (allow: string[], allowPrivate: string[]) => () =>
      createSandboxEgress({ allow, allowPrivate }, { record: () => undefined });

    expect(make(['*.0.0.1'], [])).toThrow('"*.0.0.1" must be a host or *.suffix');
    expect(make(['pypi.org'], ['127.0.0.0/8'])).toThrow('127.0.0.0/8 must be a CIDR inside 10.0.0.0/8');
  });
});
