import { UnavailableError } from '@caribou/contracts';

/** One deadline over all store calls of a request. */
export class StoreDeadline {
  private readonly endMs: number;

  constructor(timeoutMs: number) {
    this.endMs = performance.now() + timeoutMs;
  }

  /** @throws {UnavailableError} at the deadline; whether the call took effect is then unknown */
  within<Result>(call: () => Promise<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const fail = (): void =>
        reject(new UnavailableError('the store did not answer in time', { details: { dependency: 'redis' } }));
      const timer = setTimeout(fail, Math.max(0, this.endMs - performance.now()));
      void call()
        .then(resolve, reject)
        .then(() => clearTimeout(timer));
    });
  }
}
