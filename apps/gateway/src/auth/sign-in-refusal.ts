import { AppError, type ErrorCode, type SignInFailure } from '@caribou/contracts';

const CODES = {
  400: 'bad_request',
  401: 'unauthenticated',
  403: 'forbidden',
  409: 'conflict',
} as const satisfies Readonly<Record<number, ErrorCode>>;

/** A refusal that web pages identify by its code: the answer is `{"detail": {"code", "message"}}`. */
export class SignInRefusal extends AppError {
  constructor(
    status: keyof typeof CODES,
    readonly reason: SignInFailure,
    message: string,
  ) {
    super(CODES[status], message);
  }
}
