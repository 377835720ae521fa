import { Counter, type Registry } from 'prom-client';

export interface ModelCallMetrics {
  modelTokens(kind: 'input' | 'output', count: number): void;
  modelRetried(reason: string): void;
  /** A call was passed on to a fallback of its model. */
  modelFellBack(reason: string): void;
}

/** @param reasonLabel bounds the number of label values */
export function addModelCallMetrics(registry: Registry, reasonLabel: (reason: string) => string): ModelCallMetrics {
  const createCounter = (name: string, help: string, label: string) =>
    new Counter({ name: `caribou_model_${name}_total`, help, labelNames: [label], registers: [registry] });
  const tokens = createCounter('tokens', 'Tokens that model providers counted', 'kind');
  const retries = createCounter('retries', 'Model calls that were made again', 'reason');
  const fallbacks = createCounter('fallbacks', 'Model calls that a fallback of the model got', 'reason');
  return {
    modelTokens: (kind, count) => {
      tokens.inc({ kind }, count);
    },
    modelRetried: (reason) => {
      retries.inc({ reason: reasonLabel(reason) });
    },
    modelFellBack: (reason) => {
      fallbacks.inc({ reason: reasonLabel(reason) });
    },
  };
}
