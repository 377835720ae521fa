import type { LoadedTrace } from '../../api/trace.js';
import { Badge } from '../../components/badge.js';
import { explain } from '../../text/explain.js';
import { formatCount, formatDuration } from '../../text/format.js';
import styles from './runs.module.css';
import { toneOfOutcome } from './timeline-rows.js';
import { summarizeTrace } from './trace-summary.js';

/** The run in figures. */
export function SummaryList({ trace: { run, entries } }: { readonly trace: LoadedTrace }) {
  const summary = summarizeTrace(entries);
  const texts = explain.summary;
  const figures: readonly (readonly [string, string])[] = [
    [texts.total, summary.totalMs === null ? '–' : formatDuration(summary.totalMs)],
    [texts.queued, summary.queuedMs === null ? '–' : formatDuration(summary.queuedMs)],
    [texts.model, formatDuration(summary.modelMs)],
    [texts.tools, formatDuration(summary.toolMs)],
    [texts.hooks, formatDuration(summary.hookMs)],
    [texts.modelCalls, formatCount(summary.modelCalls)],
    [texts.toolCalls, formatCount(summary.toolCalls)],
    [texts.takeovers, formatCount(summary.takeovers)],
    [texts.attempts, summary.processes.length === 0 ? '–' : summary.processes.join(', ')],
    [texts.tokens, `${formatCount(run.total_input_tokens)} / ${formatCount(run.total_output_tokens)}`],
  ];
  return (
    <dl className={styles['summary']}>
      <div>
        <dt>{texts.status}</dt>
        <dd>
          <Badge tone={toneOfOutcome(run.status)}>{run.status}</Badge>
        </dd>
      </div>
      {figures.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
