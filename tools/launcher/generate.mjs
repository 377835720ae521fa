import { inRepository, repository } from './repository.mjs';
import { runCommand } from './processes/run-command.mjs';
import { say } from './processes/terminal.mjs';

/**
 * Writes the files that code makes: config.example.yaml from the schema, docs/api.md from the routes, the tables of
 * docs/clients.md from the catalogue of the SDK's calls, the rules and dashboards in deploy/ and the table of alerts in
 * docs/operations.md from the lists of tools/monitoring, docs/kubernetes-values.md from the values of the chart, and, where helm is
 * installed (node tools/launcher/helm.mjs builds it), the renders of the chart in deploy/helm/golden and deploy/kustomize.
 */

const tests = [
  'libs/config/src/load/example-file.test.ts',
  'apps/gateway/src/system/api-page.test.ts',
  'e2e/sdk/catalog-page.test.ts',
  'tools/monitoring/monitoring.test.ts',
  'tools/kubernetes/render/generated.test.ts',
];
const jest = inRepository('node_modules', 'jest', 'bin', 'jest.js');

const { code, output } = await runCommand(process.execPath, [jest, ...tests, '--selectProjects', 'unit', 'e2e'], {
  cwd: repository,
  env: { ...process.env, WRITE_GENERATED: '1' },
  timeoutMs: 120_000,
});
say(code === 0 ? 'config.example.yaml, the generated pages of docs/ and the files of deploy/ are up to date' : output);
process.exitCode = code;
