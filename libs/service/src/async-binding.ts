import { AsyncResource } from 'node:async_hooks';

type Callback = (this: unknown, ...args: unknown[]) => unknown;

/**
 * Replaces `AsyncResource.bind` where Node adds a deprecated property to each bound function (before Node 24). That property is made of
 * two functions whose prototypes are set; V8 describes such objects among its old ones, so all that a bound function refers to stays in
 * memory until the next full collection. Fastify binds one function for each request with a body: half of what a gateway
 * allocated survived, and was copied, in each collection of young objects.
 *
 * Bound functions do the same as before, without the properties `asyncResource` and `length`.
 */
export function useLeanAsyncBinding(): void {
  if (!('asyncResource' in AsyncResource.bind(() => undefined))) return;
  const bind = function bind(this: AsyncResource, callback: Callback, thisArg?: unknown): Callback {
    if (thisArg === undefined) return bindTo(this, callback);
    return (...args) => this.runInAsyncScope(callback, thisArg, ...args);
  };
  Object.defineProperty(AsyncResource.prototype, 'bind', { value: bind, writable: true, configurable: true });
}

const bindTo = (resource: AsyncResource, callback: Callback): Callback =>
  function bound(this: unknown, ...args) {
    return resource.runInAsyncScope(callback, this, ...args);
  };
