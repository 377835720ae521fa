import { ApiError } from '../../api/request.js';
import { failureText } from '../../components/notice.js';
import { signIn } from '../../text/sign-in.js';

const texts: ReadonlyMap<string | undefined, string> = new Map([
  ['email_already_exists', signIn.emailTaken],
  ['system_already_initialized', signIn.alreadySetUp],
  ['registration_disabled', signIn.registrationClosed],
]);

/** Why somebody could not sign in. @param wrong what a refusal of the credentials means */
export function refusalText(error: unknown, wrong: string): string {
  if (!(error instanceof ApiError)) return failureText(error);
  if (error.status === 401 || error.code === 'invalid_credentials') return wrong;
  if (error.status === 429) return signIn.tooMany(error.retryAfterSeconds);
  return texts.get(error.code) ?? failureText(error);
}
