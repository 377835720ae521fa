import { BugError } from '@caribou/contracts';

export type Call<Request, Result> = (request: Request) => Promise<Result>;

/** A behaviour around a call. */
export interface Layer<Request, Result> {
  /** Named in the error when the layer breaks the rule of `next`. */
  readonly name: string;
  readonly call: (request: Request, next: Call<Request, Result>) => Promise<Result>;
}

/**
 * Folds layers around a core call; the first listed is the outermost. A layer may return without calling `next`, or
 * call it again after it has settled (retry). It must neither return while `next` is running nor start a second call at
 * the same time: two model calls would mix their deltas, and a call that is not awaited would outlive its turn.
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
    let isRunning = false;
    const settle = (): void => {
      isRunning = false;
    };
    const result = await layer.call(request, (inner) => {
      if (isRunning) return Promise.reject(new BugError(`${layer.name} called next() again before it settled`));
      isRunning = true;
      const call = start(next, inner);
      // Runs before what the layer does with the result. A call that the layer did not await may fail later; by then the check below
      // has reported the layer.
      call.then(settle, settle);
      return call;
    });
    if (isRunning) throw new BugError(`${layer.name} returned before its next() settled`);
    return result;
  };
}

/** Begins a call; one that throws at once is one that fails. */
function start<Request, Result>(next: Call<Request, Result>, request: Request): Promise<Result> {
  try {
    return next(request);
  } catch (error) {
    return Promise.reject(error);
  }
}
