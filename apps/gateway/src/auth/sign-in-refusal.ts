import type { SignInFailure } from '@caribou/contracts';
import { HttpException } from '@nestjs/common';

/** A refusal that pages tell apart by its code: the answer is `{"detail": {"code", "message"}}`. */
export class SignInRefusal extends HttpException {
  constructor(
    status: 400 | 401 | 403 | 409,
    readonly reason: SignInFailure,
    message: string,
  ) {
    super(message, status);
  }
}
