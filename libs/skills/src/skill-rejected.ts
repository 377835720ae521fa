import { InvalidRequestError } from '@caribou/contracts';

/** An invalid skill; the message says why, for its author. */
export class SkillRejectedError extends InvalidRequestError {}
