import { AppError, type CommandReply, type ProtocolErrorCode } from '@caribou/contracts';

/** An answer of the protocol that says why a command was not carried out. */
export class ProtocolRefusal extends Error {
  constructor(
    readonly code: ProtocolErrorCode,
    message: string,
  ) {
    super(message);
    this.name = 'ProtocolRefusal';
  }
}

const MAX_MESSAGE_CHARS = 1_000;

/** The answer for an error of a command; undefined for one that is not the client's fault and that has no answer of its own. */
export function refusalReply(id: number | null, error: unknown): Extract<CommandReply, { type: 'error' }> | undefined {
  if (error instanceof ProtocolRefusal) return reply(id, error.code, error.message);
  if (!(error instanceof AppError) || !error.expected) return undefined;
  return reply(id, codeOf(error), error.message);
}

/** The answer for an error whose cause is not for clients. */
export const internalReply = (id: number | null): CommandReply => reply(id, 'unknown_error', 'internal error');

const reply = (id: number | null, error: ProtocolErrorCode, message: string) =>
  ({ type: 'error', id, error, message: message.slice(0, MAX_MESSAGE_CHARS) }) as const;

function codeOf({ code }: AppError): ProtocolErrorCode {
  switch (code) {
    case 'bad_request':
    case 'invalid_request':
    case 'not_found':
    case 'conflict':
    case 'too_large':
      return 'invalid_argument';
    case 'unauthenticated':
    case 'forbidden':
      return 'permission_denied';
    default:
      return 'unknown_error';
  }
}

/** Whether the command may succeed when it is sent again, which the HTTP status says. */
export const isPassing = (error: unknown): error is AppError =>
  error instanceof AppError && (error.status === 429 || (error.status === 503 && !mayHaveHappened(error)));

/** Whether the store may have carried the command out although it did not answer: a repetition would do it twice. */
const mayHaveHappened = ({ details }: AppError): boolean => details['shown'] !== undefined;
