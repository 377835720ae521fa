import { z } from 'zod';
import { route } from '../route.js';

const group = 'Sign-in';

/** Error codes of DeerFlow's sign-in page, which has no texts for the last four. */
export const SignInFailure = z.enum([
  'invalid_credentials',
  'token_invalid',
  'not_authenticated',
  'email_already_exists',
  'system_already_initialized',
  'system_not_initialized',
  'registration_disabled',
  'sign_in_disabled',
  'csrf_token_invalid',
]);
export type SignInFailure = z.infer<typeof SignInFailure>;

/** RFC 5321 §4.5.3.1.3 less the brackets. */
const MAX_EMAIL_CHARS = 254;
const MIN_PASSWORD_CHARS = 8;
/** Longer than any passphrase; limits the input of the hash function. */
const MAX_PASSWORD_CHARS = 256;

const Email = z.string().trim().toLowerCase().max(MAX_EMAIL_CHARS).pipe(z.email());
/** A new password. */
const NewPassword = z.string().min(MIN_PASSWORD_CHARS).max(MAX_PASSWORD_CHARS);
/** A password that is only compared, so a short one is simply wrong. */
const GivenPassword = z.string().max(MAX_PASSWORD_CHARS);
/** A boolean in JSON, or its spelling in a form. */
const Remember = z.union([
  z.boolean(),
  z.enum(['true', 'false', 'on', '1', '0']).transform((word) => /^(true|on|1)$/.test(word)),
]);

const User = z.object({
  id: z.string(),
  email: z.string(),
  system_role: z.enum(['admin', 'user']),
  needs_setup: z.literal(false),
  oauth_provider: z.null(),
});
export type UserReply = z.infer<typeof User>;

const NewAccount = z.object({ email: Email, password: NewPassword, remember_me: Remember.default(true) });
export type NewAccountInput = z.output<typeof NewAccount>;
const Done = z.object({ message: z.string() });

const me = route({
  name: 'getMe',
  group,
  method: 'GET',
  path: '/v1/auth/me',
  summary: 'The signed-in user; without sign-in, the built-in administrator.',
  reply: User,
});

const setupStatus = route({
  name: 'getSetupStatus',
  group,
  role: 'public',
  method: 'GET',
  path: '/v1/auth/setup-status',
  summary: 'Whether the first administrator has to be created, and whether users may register.',
  reply: z.object({ needs_setup: z.boolean(), registration_enabled: z.boolean() }),
});

const providers = route({
  name: 'getSignInProviders',
  group,
  role: 'public',
  method: 'GET',
  path: '/v1/auth/providers',
  summary: 'Other services to sign in with: none.',
  reply: z.object({ providers: z.array(z.never()) }),
});

const initialize = route({
  name: 'initializeSystem',
  group,
  role: 'public',
  method: 'POST',
  path: '/v1/auth/initialize',
  summary: 'Create the first administrator and sign in; possible once.',
  body: NewAccount,
  status: 201,
  reply: User,
  refusals: [409, 429],
});

const login = route({
  name: 'signIn',
  group,
  role: 'public',
  method: 'POST',
  path: '/v1/auth/login/local',
  summary: 'Sign in with e-mail and password: sets the cookies access_token and csrf_token.',
  consumes: 'application/x-www-form-urlencoded',
  body: z.object({
    username: z.string().trim().toLowerCase().max(MAX_EMAIL_CHARS),
    password: GivenPassword,
    remember_me: Remember.default(true),
  }),
  reply: z.object({ expires_in: z.int().describe('Seconds'), needs_setup: z.literal(false) }),
  refusals: [429],
});

const register = route({
  name: 'registerUser',
  group,
  role: 'public',
  method: 'POST',
  path: '/v1/auth/register',
  summary: 'Create an account and sign in, if the operator allows it.',
  body: NewAccount,
  status: 201,
  reply: User,
  refusals: [409, 429],
});

const logout = route({
  name: 'signOut',
  group,
  role: 'public',
  method: 'POST',
  path: '/v1/auth/logout',
  summary: "End the cookie's session, at every gateway.",
  reply: Done,
});

const changePassword = route({
  name: 'changePassword',
  group,
  method: 'POST',
  path: '/v1/auth/change-password',
  summary: 'Change password and, if given, e-mail; ends all other sessions.',
  body: z.object({
    current_password: GivenPassword,
    new_password: NewPassword,
    new_email: Email.nullish(),
    remember_me: Remember.nullish(),
  }),
  reply: Done,
  refusals: [400, 409, 429],
});

const Session = z.object({
  id: z.string().describe('Names the session; it does not open it'),
  created_at: z.string(),
  expires_at: z.string(),
  remembered: z.boolean().describe('Whether it outlives the browser'),
  current: z.boolean().describe('Whether it is the session of this request'),
});
export type SessionReply = z.infer<typeof Session>;

const sessions = route({
  name: 'listSessions',
  group,
  method: 'GET',
  path: '/v1/auth/sessions',
  summary: 'Your sessions, the newest first: at most 50.',
  reply: z.object({ sessions: z.array(Session) }),
});

const endSession = route({
  name: 'endSession',
  group,
  method: 'DELETE',
  path: '/v1/auth/sessions/:session_id',
  summary: 'End one of your sessions, at every gateway.',
  params: z.object({
    session_id: z.string().regex(/^[\w-]{43}$/, 'must be the id of a session: 43 letters, digits, "-" or "_"'),
  }),
  status: 204,
  reply: 'empty',
  refusals: [404],
});

const endOtherSessions = route({
  name: 'endOtherSessions',
  group,
  method: 'DELETE',
  path: '/v1/auth/sessions',
  summary: 'End all your sessions but the one of this request, at every gateway.',
  reply: z.object({ ended: z.int().describe('Sessions that were ended') }),
});

export const signInRoutes = {
  me,
  setupStatus,
  providers,
  initialize,
  login,
  register,
  logout,
  changePassword,
  sessions,
  endSession,
  endOtherSessions,
};
