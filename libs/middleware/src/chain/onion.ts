import { BugError } from '@caribou/contracts';

export type Call<Request, Result> = (request: Request) => Promise<Result>;

/** A behaviour around a call. */
export interface Layer<Request, Result> {
  /** Named in the error when the layer breaks the rule of `next`. */
  readonly name: string;
  readonly call: (request: Request, next: Call<Request, Result>) => Promise<Result>;
}

/**
 * Folds layers around a core call; the first listed is the outermost.
 * A layer may answer without `next`, or call it again once it settled (retry). It must not return while `next`
 * runs, nor start a second one beside it: two model calls would mix their deltas, and a call nobody waits for
 * would outlive its turn.
 *
 * @throws {BugError} naming the layer that broke this rule.
 */
export function onion<Request, Result>(
  layers: readonly Layer<Request, Result>[],
  core: Call<Request, Result>,
): Call<Request, Result> {
  return layers.reduceRight<Call<Request, Result>>((next, layer) => guardLayer(layer, next), core);
}

function guardLayer<Request, Result>(
  layer: Layer<Request, Result>,
  next: Call<Request, Result>,
): Call<Request, Result> {
  return async (request) => {
    const running = new Set<Promise<Result>>();
    const result = await layer.call(request, (inner) => {
      if (running.size > 0) return Promise.reject(new BugError(`${layer.name} called next() again before it settled`));
      const call = next(inner).finally(() => running.delete(call));
      running.add(call);
      // A call the layer forgot may fail later; the guard below has reported the layer by then.
      call.catch(() => undefined);
      return call;
    });
    if (running.size > 0) throw new BugError(`${layer.name} returned before its next() settled`);
    return result;
  };
}
