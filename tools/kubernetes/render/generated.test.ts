import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expectGenerated } from '@caribou/testing';
import { renderDashboard } from '../../monitoring/dashboards/dashboard.js';
import { dashboards } from '../../monitoring/dashboards/dashboards.js';
import { renderAlertRules } from '../../monitoring/render-alerts.js';
import { findHelm, inHelm, renderChart, type RenderRequest } from './helm.js';
import { kustomizeBase } from './kustomize.js';
import { parseObjects, titleOf, workloadsOf } from './objects.js';
import { renderValuesTable, valueRows } from './values-table.js';
import { goldenFile, inKustomize, VALUE_SETS, valuesFile } from './value-sets.js';

// The order counts for `npm run generate`: renders contain the files of the chart.
describe('files of the chart', () => {
  test('the alerts are those of tools/monitoring', () => {
    expectGenerated(inHelm('caribou', 'files', 'alerts.yaml'), renderAlertRules());
  });

  test.each(dashboards)('the dashboard $name is that of tools/monitoring', (dashboard) => {
    const file = inHelm('caribou', 'files', 'dashboards', `${dashboard.name}.json`);
    expectGenerated(file, renderDashboard(dashboard));
  });

  test('there are no other dashboards', () => {
    const names = dashboards.map(({ name }) => `${name}.json`);
    expect(readdirSync(inHelm('caribou', 'files', 'dashboards')).sort()).toEqual(names.sort());
  });
});

describe('docs/kubernetes-values.md', () => {
  const page = inHelm('..', '..', 'docs', 'kubernetes-values.md');
  const BEGIN = '<!-- table of deploy/helm/caribou/values.yaml: npm run generate -->\n';
  const END = '<!-- end of the table -->';
  const rows = valueRows(readFileSync(inHelm('caribou', 'values.yaml'), 'utf8'));

  test('shows every value of the chart', () => {
    const text = readFileSync(page, 'utf8');
    const [before = '', rest = ''] = text.split(BEGIN);
    const expected = `${before}${BEGIN}${renderValuesTable(rows)}\n${rest.slice(rest.indexOf(END))}`;
    if (process.env['WRITE_GENERATED'] === '1') writeFileSync(page, expected);
    else if (text !== expected) throw new Error('docs/kubernetes-values.md is out of date: run "npm run generate"');
  });

  test('every value has a meaning', () => {
    expect(rows.filter(({ about }) => about === '').map(({ path }) => path)).toEqual([]);
  });
});

const kubectl = (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'kubectl')));
if (!kubectl) console.warn('skipped: the base of deploy/kustomize as kustomize reads it (no program kubectl)');

describe('deploy/kustomize', () => {
  (kubectl ? test : test.skip)('kustomize builds the objects of the base, with the changes of an overlay', () => {
    const overlay = mkdtempSync(inKustomize('overlay-'));
    try {
      const images = '[{ name: caribou, newName: registry.example.com/caribou, newTag: 9.9.9 }]';
      const replicas = '[{ name: caribou-agent-runner, count: 6 }]';
      writeFileSync(
        join(overlay, 'kustomization.yaml'),
        `resources: [../base]\nimages: ${images}\nreplicas: ${replicas}\n`,
      );
      const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', overlay], {
        encoding: 'utf8',
        timeout: 60_000,
      });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      const built = parseObjects(stdout);
      const files = readdirSync(inKustomize('base')).filter((name) => name !== 'kustomization.yaml');
      const base = files.flatMap((name) => parseObjects(readFileSync(inKustomize('base', name), 'utf8')));
      expect(built.map(titleOf).sort()).toEqual(base.map(titleOf).sort());
      const references = workloadsOf(built).flatMap(({ containers }) => containers.map(({ image }) => image));
      expect(new Set(references)).toEqual(new Set(['registry.example.com/caribou:9.9.9']));
      const runner = built.find(
        ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('agent-runner'),
      );
      expect(runner?.['spec']).toMatchObject({ replicas: 6 });
    } finally {
      rmSync(overlay, { recursive: true });
    }
  });
});

const helm = findHelm();
if (helm === undefined) {
  console.warn(
    'skipped: whether the renders in deploy/ are those of the chart (no program helm; node tools/launcher/helm.mjs builds it)',
  );
}
const withHelm = helm === undefined ? describe.skip : describe;

async function render(request: RenderRequest): Promise<string> {
  const rendered = await renderChart(helm ?? '', request);
  if ('refusal' in rendered) throw new Error(rendered.refusal);
  return rendered.text;
}

withHelm('renders', () => {
  test.each(VALUE_SETS)('deploy/helm/golden/%s.yaml is what the chart gives for the example', async (set) => {
    expectGenerated(goldenFile(set), await render({ files: [valuesFile(set)] }));
  });

  test('the base of deploy/kustomize is what the chart gives for its values', async () => {
    const files = kustomizeBase(await render({ files: [inKustomize('values.yaml')] }));
    const folder = inKustomize('base');
    const isWriting = process.env['WRITE_GENERATED'] === '1';
    const left = readdirSync(folder).filter((name) => !files.has(name));
    if (isWriting) for (const name of left) rmSync(join(folder, name));
    else expect(left).toEqual([]);
    for (const [name, text] of files) expectGenerated(join(folder, name), text);
    expect(existsSync(join(folder, 'kustomization.yaml'))).toBe(true);
  });

  test('another name of the release is in every name', async () => {
    const text = await render({ release: 'blue', namespace: 'agents', files: [valuesFile('production')] });
    expect(text).toContain('name: blue-caribou-gateway\n');
    expect(text).not.toMatch(/name: caribou-(gateway|agent-runner)\n\s+namespace/);
  });
});
