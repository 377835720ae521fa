import { AppError } from '@caribou/contracts';

/** The configuration cannot be used: every fault at once, each naming its variable or key, none showing a value. */
export class ConfigError extends AppError {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super('invalid_request', ['The configuration is not valid:', ...faults.map((fault) => `  - ${fault}`)].join('\n'), {
      details: { faults },
    });
    this.faults = faults;
  }
}
