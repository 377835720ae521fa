import { defaultSandboxConfig } from '@caribou/config';
import { testSandboxSettings } from '@caribou/testing';
import { sandboxSettings } from './settings.js';

test('drivers read the whole section of the configuration, but for the hosts that may be reached', () => {
  const { network: _hosts, limits, ...section } = { ...defaultSandboxConfig(), runtime: 'runsc' };
  const { homeDir, mounts } = testSandboxSettings('/none');
  const runDir = '/run/test';

  const settings = sandboxSettings({ ...section, limits, network: _hosts }, { homeDir, runDir, mounts });

  expect(settings).toMatchObject({ ...section, limits, homeDir });
  expect(settings).not.toHaveProperty('network');
  expect(settings.limits).toMatchObject({ openFiles: 1024, fileBytes: 512 * 1024 * 1024 });
});

test("the run directory of an installation is its own, by the engine's path of the home where that differs", () => {
  const { mounts } = testSandboxSettings('/none');
  const section = defaultSandboxConfig();
  const runDirOf = (homeDir: string, changes = {}) =>
    sandboxSettings({ ...section, ...changes }, { homeDir, runDir: '/run/test', mounts });

  const [one, same, other] = [runDirOf('/a'), runDirOf('/a'), runDirOf('/b')];
  const inContainer = runDirOf('/data', { hostHomeDir: '/a', hostRunDir: '/host/run' });

  expect(one.runDir).toMatch(/^\/run\/test\/[0-9a-f]{12}$/);
  expect([same.runDir, other.runDir === one.runDir]).toEqual([one.runDir, false]);
  expect(one).not.toHaveProperty('hostRunDir');
  expect([inContainer.runDir, inContainer.hostRunDir]).toEqual([
    one.runDir,
    one.runDir.replace('/run/test', '/host/run'),
  ]);
});
