import { testSandboxSettings } from '@caribou/testing';
import { endingTimes, memoryBound, processBounds } from './gvisor.js';

const settings = (pids: number, runtime?: string) => testSandboxSettings('/none', { runtime, limits: { pids } });

describe('processBounds', () => {
  test('a sandbox on the machine’s kernel has the limit of the settings, and none for its users', () => {
    expect(processBounds(settings(64))).toEqual({ PidsLimit: 64, Ulimits: [] });
  });

  test('gVisor’s kernel gets a thread for each pair of a process and a thread that runs it, so that a fork bomb does not end it', () => {
    const { PidsLimit, Ulimits } = processBounds(settings(64, 'runsc'));
    const most = Ulimits[0]?.Hard ?? 0;

    expect(most).toBeGreaterThan(64);
    expect(PidsLimit).toBeGreaterThan(most * most);
  });

  test('no sandbox of gVisor may take more than half of the process ids of a machine', () => {
    expect(processBounds(settings(256, 'runsc')).PidsLimit).toBe(16_384);
    expect(processBounds(settings(4096, 'runsc-ptrace')).PidsLimit).toBe(16_384);
  });
});

describe('memoryBound', () => {
  test('the kernel of gVisor takes nothing of the memory that commands may have', () => {
    const { memoryBytes } = settings(64).limits;

    expect(memoryBound(settings(64))).toBe(memoryBytes);
    expect(memoryBound(settings(64, 'runsc')) - memoryBytes).toBeGreaterThanOrEqual(209 * 1024 * 1024);
  });
});

describe('endingTimes', () => {
  test('the engine has the time for its own two ways to kill, and for each process that a dead gVisor leaves', () => {
    expect(endingTimes(settings(64))).toMatchObject({ stopSeconds: 0, outsideMs: 60_000 });
    expect(endingTimes(settings(64, 'runsc')).outsideMs).toBe(60_000 + 80_000);
  });
});
