import { formatCount } from './format.js';

/** Texts of the pages of API keys and of users. */
export const access = {
  role: 'Role',
  roles: { user: 'user', administrator: 'administrator' },
  never: 'never',
  unknown: 'unknown',
  actions: 'Actions',
  page: 'Pages',
  shown: (first: number, last: number, total: number) =>
    total === 0 ? '' : `${formatCount(first)} to ${formatCount(last)} of ${formatCount(total)}`,
  previous: 'Previous page',
  next: 'Next page',
};

/** Texts of the page of API keys. */
export const keyTexts = {
  title: 'API keys',
  about:
    'Programs call the API with keys. A key acts for one user; one of an administrator may do everything that you may.',
  create: 'New key…',
  localMode:
    'This server asks for no credentials: whoever reaches it is its administrator, with or without a key. Keys limit nobody until CARIBOU_API_KEYS is set or sign-in is switched on.',
  empty: 'There are no API keys.',
  name: 'Name',
  nameHint: 'What uses the key, such as nightly report. At most 100 characters.',
  configured: 'from the configuration',
  user: 'User',
  userHint: 'The user for whom the key acts. Empty: you.',
  label: 'Label',
  status: 'Status',
  statuses: { active: 'active', expired: 'expired', revoked: 'revoked' },
  created: 'Created',
  createdBy: (time: string, user: string) => `${time}, by ${user}`,
  expires: 'Expires',
  lastUsed: 'Last used',
  overlapUntil: (time: string) => `old secret until ${time}`,
  expiry: 'Ends after',
  expiries: { '30': '30 days', '90': '90 days', '365': 'a year', date: 'a day of my choice', never: 'never' },
  date: 'Last day',
  createTitle: 'New API key',
  createAction: 'Create key',
  administratorWarning: 'A key of an administrator may read and change the data of all users.',
  faults: {
    name: 'Give the key a name.',
    user: 'A user id has 1 to 64 letters, digits, "_" or "-", and begins with a letter or digit.',
    date: 'Choose a day in the future.',
  },
  rotate: 'Rotate…',
  rotateTitle: (name: string) => `New secret for ${name}?`,
  rotateAbout: 'The key gets another secret; name, user, role and end stay the same.',
  rotateAction: 'Make a new secret',
  overlap: 'The old secret',
  overlaps: { '0': 'ends at once', '3600': 'works for another hour', '86400': 'works for another day' },
  revoke: 'Revoke…',
  revokeTitle: (name: string) => `Revoke ${name}?`,
  revokeAbout: 'No server accepts the key any more, and its open streams end. Runs continue. This cannot be undone.',
  revokeAction: 'Revoke key',
  issuedTitle: (name: string) => `The secret of ${name}`,
  issuedAbout: 'Copy it now: it is not stored and is never shown again.',
  issuedField: 'Secret',
  copy: 'Copy',
  copied: 'Copied.',
  copyFailed: 'The browser does not allow copying here. Select the text and copy it.',
  done: 'I have stored it',
};

/** Texts of the page of users. */
export const userTexts = {
  title: 'Users',
  about: 'Accounts of people who sign in. Users who only have API keys are not among them.',
  empty: 'There are no accounts: nobody has signed up, or sign-in is off.',
  email: 'E-mail',
  id: 'User id',
  created: 'Created',
  lastSignIn: 'Last sign-in',
  sessions: 'Sessions',
  you: 'you',
  promote: 'Make administrator…',
  promoteTitle: (email: string) => `Make ${email} an administrator?`,
  promoteAbout: 'Administrators may read and change the data of all users, and make others administrators.',
  demote: 'Make user…',
  demoteTitle: (email: string) => `Take administration away from ${email}?`,
  demoteAbout:
    'The account may only do what users may, from the next request on. API keys that this user has stay as they are: revoke those of administrators.',
  demoteOwnAbout: 'You may no longer open these pages. Another administrator can undo it.',
  roleAction: 'Change role',
  endSessions: 'Sign out…',
  endTitle: (email: string) => `Sign ${email} out everywhere?`,
  endAbout:
    'All sessions and their open streams end; runs continue. The person can sign in again with the password, and API keys work on.',
  endAction: 'End sessions',
  ended: (email: string, count: number) =>
    count === 1 ? `One session of ${email} was ended.` : `${formatCount(count)} sessions of ${email} were ended.`,
  erase: 'Erase…',
  eraseTitle: (email: string) => `Erase ${email}?`,
  eraseAbout:
    'Everything that is stored about the user is erased: conversations with their files, memories, agents, schedules, API keys and the account. It is refused while a run is under way. This cannot be undone.',
  eraseAction: 'Erase user',
};
