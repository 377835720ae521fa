import type { Findings } from '../common/findings.js';
import type { ModelConfig } from '../settings/config.js';

/** The models with those fallbacks that are usable. A name that the list does not have is a fault, a left-out model a warning. */
export function checkFallbacks(
  models: readonly ModelConfig[],
  leftOut: ReadonlySet<string>,
  findings: Findings,
): readonly ModelConfig[] {
  const names = new Set(models.map(({ name }) => name));
  return models.map((model) => {
    const { name, fallbacks } = model;
    const key = `models: fallbacks of "${name}"`;
    for (const [index, fallback] of fallbacks.entries()) {
      if (fallback === name) findings.faults.push(`${key}: must not name the model itself`);
      else if (fallbacks.indexOf(fallback) < index) findings.faults.push(`${key}: "${fallback}" is named twice`);
      else if (leftOut.has(fallback)) findings.warnings.push(`${key}: "${fallback}" is not used, as it is left out`);
      else if (!names.has(fallback)) findings.faults.push(`${key}: there is no model "${fallback}"`);
    }
    return { ...model, fallbacks: fallbacks.filter((fallback) => names.has(fallback)) };
  });
}
