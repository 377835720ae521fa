import type { RouteReplyJson, threadRoutes } from '@caribou/contracts';
import { history as texts } from '../../../../text/panels-history.js';

/** A state of the history, of which fields may be left out. */
type HistoryState = RouteReplyJson<typeof threadRoutes.history>[number];

/** A step of the history as the list shows it. */
export interface Step {
  readonly id: string;
  readonly parentId: string | undefined;
  readonly title: string;
  /** ISO 8601. */
  readonly at: string | undefined;
  readonly runId: string | undefined;
  /** Nodes that would be next; empty at the end of a turn. */
  readonly next: readonly string[];
  readonly isWaiting: boolean;
  readonly error: string | undefined;
}

/** Fields that the list needs: all but the values. */
export const STEP_FIELDS = ['checkpoint', 'parent_checkpoint', 'metadata', 'created_at', 'next', 'tasks'];

const sourceOf = (source: unknown): string =>
  source === 'input' || source === 'loop' || source === 'update' || source === 'fork'
    ? texts.sources[source]
    : texts.unknownSource;

/** The step of a state; undefined for the empty state of a thread that never ran. */
export function stepOf(state: HistoryState): Step | undefined {
  const { checkpoint, parent_checkpoint: parent, metadata = {}, created_at: at, next = [], tasks = [] } = state;
  if (checkpoint === undefined || checkpoint === null) return undefined;
  const { step, run_id: runId, source } = metadata as Readonly<Record<string, unknown>>;
  const number = typeof step === 'number' ? `${texts.step(step)} · ` : '';
  return {
    id: checkpoint.checkpoint_id,
    parentId: parent?.checkpoint_id,
    title: `${number}${sourceOf(source)}`,
    at: at ?? undefined,
    runId: typeof runId === 'string' ? runId : undefined,
    next,
    isWaiting: tasks.some(({ interrupts }) => interrupts.length > 0),
    error: tasks.find(({ error }) => error !== null)?.error ?? undefined,
  };
}

/** What is next after a step, as a person reads it. */
export function nextOf({ next, isWaiting, error }: Step): string {
  if (error !== undefined) return texts.failed;
  if (isWaiting) return texts.waits;
  const [node] = next;
  if (node === undefined) return texts.end;
  return texts.next(
    node === 'model_request' || node === 'after_model' || node === 'tools' ? texts.nextNodes[node] : node,
  );
}
