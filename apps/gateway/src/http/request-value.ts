import type { FastifyRequest } from 'fastify';

type Raw = FastifyRequest['raw'];

/**
 * A value that belongs to each request, for code that gets nothing but the request.
 *
 * It is a property of the request and not an entry of a `WeakMap`. V8 collects young objects without looking whether the keys of an
 * older WeakMap are alive: it holds on to the values, and with a value that refers to its request, as closures do, to the request
 * with all that belongs to it. All requests would be moved to the old objects, which costs a gateway a tenth of its time.
 */
export class RequestValue<Value> {
  private readonly key: symbol;

  /** @param name for those who look at a request in a debugger */
  constructor(name: string) {
    this.key = Symbol(name);
  }

  get(raw: Raw): Value | undefined {
    return this.valuesOf(raw)[this.key];
  }

  set(raw: Raw, value: Value): void {
    this.valuesOf(raw)[this.key] = value;
  }

  private valuesOf(raw: Raw): Record<symbol, Value | undefined> {
    return raw as Raw & Record<symbol, Value | undefined>;
  }
}
