import { alertRules, otherConditions } from './alerts.js';

const HEAD = '# Made by `npm run generate` from tools/monitoring/alerts.ts: change that, not this.\n';

/** A text as a scalar of YAML in single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** The rules as a file of Prometheus. */
export function renderAlertRules(): string {
  const rules = alertRules.map(({ name, expr, holds, severity, means, runbook }) =>
    [
      `      - alert: ${name}`,
      `        expr: ${quoted(expr)}`,
      `        for: ${holds}`,
      '        labels:',
      `          severity: ${severity}`,
      '        annotations:',
      `          summary: ${quoted(means.replaceAll('`', ''))}`,
      `          runbook: ${quoted(runbook)}`,
    ].join('\n'),
  );
  return `${HEAD}groups:\n  - name: caribou\n    rules:\n${rules.join('\n')}\n`;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** The rows of the table of docs/operations.md. */
export function renderAlertTable(): string {
  const rules = alertRules.map(
    ({ name, expr, holds, means, runbook }) =>
      `| \`${name}\` | \`${cell(expr)}\`${holds === '0m' ? '' : `, for ${holds}`} | ${cell(means)} | ${cell(runbook)} |`,
  );
  const others = otherConditions.map(({ condition, means }) => `| | ${condition} | ${means} | |`);
  const head = ['| alert | condition | means | what to do |', '|---|---|---|---|'];
  return [...head, ...rules, ...others].join('\n');
}
