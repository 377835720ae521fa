import { skeletonOf } from './compare.js';
import { loadRecording, MODE_NAMES, SCRIPT_NAMES } from './frames.js';

/** The order of frames of every recording as Markdown, one table a script; the README holds this text. */
export function orderTables(): string {
  return SCRIPT_NAMES.map((script) => {
    const rows = MODE_NAMES.map(
      (mode) => `| ${mode} | ${shortened(skeletonOf(loadRecording(script, mode).frames).order)} |`,
    );
    return [`### ${script}`, '', '| mode | frames |', '|---|---|', ...rows].join('\n');
  }).join('\n\n');
}

/** Equal neighbours are counted, not repeated. */
function shortened(order: readonly string[]): string {
  const parts: { label: string; times: number }[] = [];
  for (const label of order) {
    const last = parts.at(-1);
    if (last?.label === label) last.times += 1;
    else parts.push({ label, times: 1 });
  }
  return parts.map(({ label, times }) => (times === 1 ? label : `${label} ×${times}`)).join(', ');
}
