import { serviceNames } from '@caribou/contracts';
import { drainOf, loadConfig } from '../index.js';
import { faultsOf, useConfigFolders } from '../testing/config-folders.js';

const folderWith = useConfigFolders();
const load = (yaml: string) => loadConfig({}, folderWith(yaml));

describe('drainOf', () => {
  test('is drain_ms for every service that has none of its own, half of it for work', () => {
    const { clocks } = load('clocks: {drain_ms: 8000}');
    for (const service of serviceNames)
      expect(drainOf(clocks, service)).toEqual({ delayMs: 0, totalMs: 8_000, workMs: 4_000 });
  });

  test.each([
    ['gateway', 'gateway_drain_ms'],
    ['agent-runner', 'runner_drain_ms'],
    ['subagent-pool', 'pool_drain_ms'],
    ['memory-worker', 'memory_drain_ms'],
    ['sandbox-manager', 'manager_drain_ms'],
  ] as const)('of a %s is %s where that is set, and only of it', (service, key) => {
    const { clocks } = load(`clocks: {${key}: 100000}`);
    const drains = serviceNames.filter((one) => drainOf(clocks, one).totalMs === 100_000);
    expect(drains).toEqual([service]);
  });

  test('leaves 30 s of a long drain for closing', () => {
    const { clocks } = load('clocks: {manager_drain_ms: 660000}');
    expect(drainOf(clocks, 'sandbox-manager')).toEqual({ delayMs: 0, totalMs: 660_000, workMs: 630_000 });
  });

  test('the delay is that of gateways alone', () => {
    const { clocks } = load('clocks: {gateway_drain_delay_ms: 5000}');
    expect(serviceNames.map((service) => drainOf(clocks, service).delayMs)).toEqual([5_000, 0, 0, 0, 0]);
  });
});

describe('clocks of a stop in config.yaml', () => {
  test.each([
    ['gateway_drain_ms: 0', 'clocks.gateway_drain_ms'],
    ['manager_drain_ms: 7200001', 'clocks.manager_drain_ms'],
    ['runner_drain_ms: soon', 'clocks.runner_drain_ms'],
    ['gateway_drain_delay_ms: 300001', 'clocks.gateway_drain_delay_ms'],
    ['gateway_drain_delay_ms: -1', 'clocks.gateway_drain_delay_ms'],
  ])('%s is refused by its name', (line, key) => {
    const faults = faultsOf(() => load(`clocks: {${line}}`));
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^${key.replaceAll('.', '\\.')}: `))]);
  });

  test('a manager that is given less time than a command is warned about, with the time that it needs', () => {
    const warnings = (yaml: string) => load(yaml).warnings.filter((text) => text.startsWith('clocks.'));
    expect(warnings('clocks: {manager_drain_ms: 600000}')).toEqual([
      'clocks.manager_drain_ms: a stopping sandbox-manager ends commands after 570000 ms, and sandbox.limits.command_timeout_ms allows 600000; set it to 660000 or more',
    ]);
    expect(warnings('clocks: {manager_drain_ms: 660000}')).toEqual([]);
    expect(warnings('clocks: {manager_drain_ms: 60000}\nsandbox: {limits: {command_timeout_ms: 30000}}')).toEqual([]);
    expect(warnings('clocks: {drain_ms: 1000}')).toEqual([]);
  });
});
