import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describeMetrics } from '@caribou/observability';
import { expectGenerated } from '@caribou/testing';
import { alertRules, FOREIGN_METRICS } from './alerts.js';
import { renderDashboard } from './dashboards/dashboard.js';
import { dashboards } from './dashboards/dashboards.js';
import { expressionFaults } from './expression-faults.js';
import { renderAlertRules, renderAlertTable } from './render-alerts.js';

const repository = join(__dirname, '..', '..');
const inDeploy = (...path: readonly string[]): string => join(repository, 'deploy', ...path);
const known = { own: describeMetrics(), foreign: FOREIGN_METRICS };
const queries = dashboards.flatMap(({ name, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap((panel) => panel.queries.map(({ expr }) => ({ of: `${name}: ${panel.title}`, expr }))),
  ),
);

describe('deploy/grafana', () => {
  test.each(dashboards)('$name.json is what the code gives', (dashboard) => {
    expectGenerated(inDeploy('grafana', `${dashboard.name}.json`), renderDashboard(dashboard));
  });

  test('has no other files', () => {
    const files = dashboards.map(({ name }) => `${name}.json`);
    expect(readdirSync(inDeploy('grafana')).sort()).toEqual(files.sort());
  });

  test('every expression reads metrics and labels that exist', () => {
    const faults = queries.flatMap(({ of, expr }) => expressionFaults(expr, known).map((fault) => `${of}: ${fault}`));
    expect(faults).toEqual([]);
  });

  test('every label in a legend is one that the expression leaves in its result', () => {
    const faults = dashboards
      .flatMap(({ rows }) => rows.flatMap(({ panels }) => panels.flatMap((panel) => panel.queries)))
      .filter(({ expr, legend }) => {
        const labels = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
        const isSummed = /\b(sum|max)\b/.test(expr);
        const by = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
        return isSummed && labels.some((label) => !by.includes(label));
      });
    expect(faults).toEqual([]);
  });

  test('every metric of the services is in a dashboard', () => {
    const text = queries.map(({ expr }) => expr).join('\n');
    expect(known.own.map(({ name }) => name).filter((name) => !text.includes(name))).toEqual([]);
  });
});

describe('deploy/prometheus', () => {
  test('alerts.yaml is what the list of alerts gives', () => {
    expectGenerated(inDeploy('prometheus', 'alerts.yaml'), renderAlertRules());
  });

  test('every rule reads metrics and labels that exist, and has a name of its own', () => {
    const faults = alertRules.flatMap(({ name, expr }) =>
      expressionFaults(expr, known).map((fault) => `${name}: ${fault}`),
    );
    expect(faults).toEqual([]);
    expect(new Set(alertRules.map(({ name }) => name)).size).toBe(alertRules.length);
  });

  const hasPromtool = (process.env['PATH'] ?? '')
    .split(delimiter)
    .some((folder) => existsSync(join(folder, 'promtool')));
  if (!hasPromtool) console.warn('skipped: the rules as Prometheus reads them (no program promtool)');
  const withPromtool = hasPromtool ? test : test.skip;

  function promtool(...args: readonly string[]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', timeout: 30_000 });
    return { status, output: `${stdout}${stderr}` };
  }

  withPromtool('Prometheus accepts the rules and the example of a configuration', () => {
    const rules = promtool('check', 'rules', inDeploy('prometheus', 'alerts.yaml'));
    expect(rules).toEqual({ status: 0, output: expect.stringContaining(`${alertRules.length} rules found`) });
    const config = promtool('check', 'config', '--syntax-only', inDeploy('prometheus', 'prometheus.yaml'));
    expect(config).toEqual({ status: 0, output: expect.stringContaining('SUCCESS') });
  });

  withPromtool('rules fire on figures that they are meant for, and not on good ones', () => {
    expect(promtool('test', 'rules', join(__dirname, 'rules-test.yaml'))).toEqual({
      status: 0,
      output: expect.stringContaining('SUCCESS'),
    });
  });
});

describe('docs/operations.md', () => {
  const BEGIN = '<!-- table of tools/monitoring/alerts.ts: npm run generate -->\n';
  const END = '<!-- end of the table -->';

  test('shows the alerts of the list', () => {
    const page = join(repository, 'docs', 'operations.md');
    const text = readFileSync(page, 'utf8');
    const [before = '', rest = ''] = text.split(BEGIN);
    const expected = `${before}${BEGIN}${renderAlertTable()}\n${rest.slice(rest.indexOf(END))}`;
    if (process.env['WRITE_GENERATED'] === '1') writeFileSync(page, expected);
    else if (text !== expected) throw new Error('docs/operations.md is out of date: run "npm run generate"');
  });
});
