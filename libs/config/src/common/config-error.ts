import { AppError } from '@caribou/contracts';

/** The configuration is invalid. Lists every fault, each with its variable or key, and never a value. */
export class ConfigError extends AppError {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super('invalid_request', ['The configuration is not valid:', ...faults.map((fault) => `  - ${fault}`)].join('\n'), {
      details: { faults },
    });
    this.faults = faults;
  }
}
