import { InvalidRequestError } from '@caribou/contracts';

/** What was to become a skill is none; the message says why, in the words of whoever wrote it. */
export class SkillRejectedError extends InvalidRequestError {}
