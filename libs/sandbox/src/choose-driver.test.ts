import type { SandboxDriverKind } from '@caribou/contracts';
import type { Clock } from '@caribou/core';
import { chooseAmong } from './choose-driver.js';
import { toEngineUnavailable } from './docker/docker-engine.js';
import type { Probe, SandboxDriver } from './drivers/driver.js';

function driver(kind: SandboxDriverKind, probes: Probe[]): SandboxDriver {
  const unused = (): never => {
    throw new Error('not used');
  };
  return {
    kind,
    create: unused,
    exec: unused,
    remove: unused,
    list: unused,
    domain: unused,
    isAlive: unused,
    removeInstance: unused,
    probe: () => Promise.resolve((probes.length > 1 ? probes.shift() : probes[0]) ?? { ok: false, reason: 'none' }),
  };
}

const yes: Probe = { ok: true, detail: 'here' };
const no = (reason: string): Probe => ({ ok: false, reason });

function clockAt(time: { ms: number }): Clock {
  return { now: () => time.ms, monotonicMs: () => time.ms, sleep: () => Promise.resolve() };
}
const clock = clockAt({ ms: 0 });

describe('chooseAmong', () => {
  test('names what can be used here and what the settings allow', async () => {
    const drivers = [driver('docker', [no('away')]), driver('bwrap', [yes])];

    const kinds = async (wanted: 'auto' | 'docker'): Promise<string[]> =>
      (await chooseAmong(drivers, wanted, clock).usable()).map(({ kind }) => kind);
    expect([await kinds('auto'), await kinds('docker')]).toEqual([['bwrap'], []]);
  });

  test('prefers docker, and takes bubblewrap when docker is away', async () => {
    const both = chooseAmong([driver('docker', [yes]), driver('bwrap', [yes])], 'auto', clock);
    const one = chooseAmong([driver('docker', [no('away')]), driver('bwrap', [yes])], 'auto', clock);

    expect((await both.forNewThread()).kind).toBe('docker');
    expect((await one.forNewThread()).kind).toBe('bwrap');
  });

  test('makes pods only where the settings say so', async () => {
    const drivers = [driver('docker', [no('away')]), driver('kubernetes', [yes])];

    await expect(chooseAmong(drivers, 'auto', clock).forNewThread()).rejects.toMatchObject({ code: 'unavailable' });
    expect((await chooseAmong(drivers, 'kubernetes', clock).forNewThread()).kind).toBe('kubernetes');
  });

  test('takes no other than the driver that the settings name', async () => {
    const drivers = chooseAmong([driver('docker', [no('away')]), driver('bwrap', [yes])], 'docker', clock);

    await expect(drivers.forNewThread()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('docker: away'),
    });
  });

  test('shows paths of the host to the operator only: callers and models read reasons without them', async () => {
    const reason = 'connect ENOENT /var/run/docker.sock; http://docs.docker.com/x and /mnt/user-data/workspace stay';
    const heard: string[] = [];
    const drivers = chooseAmong([driver('docker', [no(reason)])], 'auto', clock, (_kind, reported) =>
      heard.push(reported),
    );

    await expect(drivers.forNewThread()).rejects.toMatchObject({
      message: expect.stringMatching(
        /ENOENT \(a path of the host\); http:\/\/docs.docker.com\/x and \/mnt\/user-data\/workspace stay$/,
      ),
    });
    expect(heard).toEqual([reason]);
    expect(toEngineUnavailable(new Error('connect EACCES /home/operator/docker.sock')).message).toBe(
      'the docker engine: connect EACCES (a path of the host)',
    );
  });

  test('says for each driver why it cannot be used', async () => {
    const drivers = chooseAmong(
      [driver('docker', [no('no engine')]), driver('bwrap', [no('apt install bubblewrap')])],
      'auto',
      clock,
    );

    await expect(drivers.forNewThread()).rejects.toThrow(
      'no sandbox is available, and commands never run outside of one: docker: no engine; bwrap: apt install bubblewrap',
    );
  });

  test('never gives a thread another driver than the one it began with', async () => {
    const drivers = chooseAmong([driver('docker', [no('away')]), driver('bwrap', [yes])], 'auto', clock);

    await expect(drivers.ofKind('docker')).rejects.toThrow(
      'this thread began in a docker sandbox, which is not available here: docker: away',
    );
  });

  test('asks a driver again some time after it failed', async () => {
    const time = { ms: 0 };
    const drivers = chooseAmong([driver('docker', [no('starting'), yes])], 'auto', clockAt(time));

    await expect(drivers.forNewThread()).rejects.toThrow('starting');
    await expect(drivers.forNewThread()).rejects.toThrow('starting');
    time.ms = 20_000;

    expect((await drivers.forNewThread()).kind).toBe('docker');
  });
});
