import type { Fleet } from './fleet.js';
import type { Budget } from './report.js';
import type { Target } from './turns.js';
import type { ServerFigures } from './server-figures.js';

/** The shared state of all parts of the benchmark. */
export interface Bench {
  readonly fleet: Fleet;
  readonly figures: ServerFigures;
  readonly floor: Target;
  readonly caribou: Target;
  /** A count, or a quarter of it with `--quick`. */
  readonly times: (count: number) => number;
}

export type Part = (bench: Bench) => Promise<readonly Budget[]>;
