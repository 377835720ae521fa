import { UnavailableError } from '@caribou/contracts';

/** One deadline over all store calls of a request. */
export class StoreDeadline {
  private readonly endMs: number;

  constructor(timeoutMs: number) {
    this.endMs = performance.now() + timeoutMs;
  }

  /** @throws {UnavailableError} at the deadline; whether the call took effect is then unknown */
  async within<Result>(call: () => Promise<Result>): Promise<Result> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const fail = (): void =>
        reject(new UnavailableError('the store did not answer in time', { details: { dependency: 'redis' } }));
      timer = setTimeout(fail, Math.max(0, this.endMs - performance.now()));
    });
    try {
      return await Promise.race([call(), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
