import { defaultSandboxConfig } from '@caribou/config';
import { testSandboxSettings } from '@caribou/testing';
import { sandboxSettings } from './settings.js';

test('drivers read the whole section of the configuration, but for the hosts that may be reached', () => {
  const { network: _hosts, limits, ...section } = { ...defaultSandboxConfig(), runtime: 'runsc' };
  const { homeDir, mounts } = testSandboxSettings('/none');

  const settings = sandboxSettings({ ...section, limits, network: _hosts }, { homeDir, mounts });

  expect(settings).toMatchObject({ ...section, limits, homeDir });
  expect(settings).not.toHaveProperty('network');
  expect(settings.limits).toMatchObject({ openFiles: 1024, fileBytes: 512 * 1024 * 1024 });
});
