import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { useLeanAsyncBinding } from './async-binding.js';

describe(useLeanAsyncBinding, () => {
  const { bind } = AsyncResource.prototype;

  beforeEach(() => useLeanAsyncBinding());
  afterEach(() => {
    AsyncResource.prototype.bind = bind;
  });

  test('a bound function runs in the context of its resource, with its arguments and its result', () => {
    const context = new AsyncLocalStorage<string>();
    const resource = context.run('of the request', () => new AsyncResource('test'));
    const bound = resource.bind((one: number, other: number) => [context.getStore(), one + other]);

    expect(context.run('of the caller', () => bound(1, 2))).toEqual(['of the request', 3]);
  });

  test('`this` is that of the call, or the one that was named', () => {
    const resource = new AsyncResource('test');
    const named = function (this: { readonly name: string }) {
      return this.name;
    };

    expect(resource.bind(named).call({ name: 'call' })).toBe('call');
    const withOwn = Reflect.apply(resource.bind, resource, [named, { name: 'bound' }]) as () => string;
    expect(withOwn.call({ name: 'call' })).toBe('bound');
  });

  test('no property is added to bound functions', () => {
    expect('asyncResource' in AsyncResource.bind(() => undefined)).toBe(false);
  });
});
