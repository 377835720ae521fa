import { formatDuration } from './format.js';

/** Texts of signing in. */
export const signIn = {
  title: 'Sign in',
  again: 'Sign in again',
  againAbout:
    'Your session is over. The page behind this stays as it is, and what waits is sent when you have signed in.',
  lastUser: (name: string) => `You were ${name}. Somebody else starts with an empty page.`,
  email: 'E-mail',
  password: 'Password',
  repeatPassword: 'Password again',
  passwordRule: 'At least 8 characters.',
  passwordsDiffer: 'The two passwords differ.',
  remember: 'Stay signed in',
  submit: 'Sign in',
  createAccount: 'Create an account',
  haveAccount: 'I have an account',
  setUp: 'Create the first administrator',
  setUpAbout: 'Nobody has an account yet. Whoever creates this one manages Caribou.',
  useKey: 'Use an API key',
  key: 'API key',
  keyAbout:
    'This server asks for an API key. Those who run it have set them (CARIBOU_API_KEYS) or can create one for you. The key stays in this tab and is forgotten when it is closed.',
  keyRefused: 'The API key is no longer valid: it was revoked or has expired. Enter another one.',
  wrongKey: 'The server does not know this API key.',
  wrongPassword: 'E-mail or password is wrong.',
  tooMany: (seconds: number | undefined) =>
    seconds === undefined
      ? 'Too many attempts. Try again later.'
      : `Too many attempts. Try again in ${formatDuration(seconds * 1_000)}.`,
  emailTaken: 'There is an account with this e-mail already.',
  alreadySetUp: 'Somebody else has created the first administrator in the meantime. Sign in with an account.',
  registrationClosed: 'This server does not let people create accounts.',
  changePassword: 'Change password',
  changePasswordAbout: 'All your other sessions end.',
  currentPassword: 'Current password',
  newPassword: 'New password',
  wrongCurrent: 'The current password is wrong.',
  notSignedOut: 'You are still signed in',
  passwordChanged: 'The password is changed. Your other sessions are over.',
};
