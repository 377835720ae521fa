import { formatCount } from './format.js';

/** Texts of the page of the profile. */
export const profileTexts = {
  title: 'Profile',
  about: 'What you tell all your agents about yourself. It is a part of what they are shown in every conversation.',
  text: 'About you',
  hint: (count: string) => `${count} of 8,000 characters. An empty text removes it.`,
};

/** Texts of the page of the account. */
export const accountTexts = {
  title: 'Account',
  about: 'Where you are signed in, and how to erase what is stored about you.',
  sessions: 'Sessions',
  sessionsAbout: 'Browsers in which you are signed in. One that you end is signed out at once, at every server.',
  noSessions: 'There are no sessions: you use an API key, or sign-in is off.',
  session: 'Session',
  current: 'this browser',
  other: 'another browser',
  opened: 'Signed in',
  expires: 'Ends',
  kind: 'Lasts',
  remembered: 'beyond the browser',
  short: 'until the browser is closed',
  end: 'End',
  endTitle: 'End this session?',
  endAbout: 'The browser is signed out at once. Runs that it has started continue.',
  endCurrentAbout: 'You are signed out here. Runs that you have started continue.',
  endOthers: 'End all others…',
  endOthersTitle: 'End all other sessions?',
  ended: (count: number) => (count === 1 ? 'One session was ended.' : `${formatCount(count)} sessions were ended.`),
  erase: 'Erase all my data',
  eraseAbout:
    'Conversations with their files, memories, agents, profile, skills, scheduled tasks, items, sessions and the account itself.',
  eraseAction: 'Erase everything',
  eraseTitle: 'Erase all your data?',
  eraseDialog:
    'Everything that is stored about you is erased, and you are signed out. It is refused while a run is under way. This cannot be undone.',
  erasePhrase: 'erase all my data',
};

/** Texts of the page of what waits for the person. */
export const approvalTexts = {
  title: 'Waiting for you',
  about: 'Calls that wait for a decision, and questions that agents have asked. The oldest come first.',
  list: 'What waits',
  empty: 'Nothing waits for you.',
  kind: 'Kind',
  kinds: { question: 'question', approval: 'decision', paused: 'paused run' },
  what: 'What',
  conversation: 'Conversation',
  open: 'Open',
  owner: 'Owner',
  since: 'Since',
  until: 'Until',
  forEver: 'no deadline',
  mayNot: 'only an administrator decides',
};

/** Texts of the page of usage. */
export const usageTexts = {
  title: 'Usage',
  about: 'Tokens and cost of the model calls of your runs. Days are in UTC.',
  month: 'Month',
  total: 'Total',
  calls: 'Calls',
  input: 'Input tokens',
  cached: 'of these cached',
  output: 'Output tokens',
  cost: 'Cost',
  noPrices: 'no prices',
  byModel: 'By model',
  byAgent: 'By agent',
  byDay: 'By day',
  model: 'Model',
  agent: 'Agent',
  day: 'Day',
  empty: 'There was no usage.',
};

/** Texts of the page of items. */
export const itemTexts = {
  title: 'Stored items',
  about: 'Items that programs have stored for you by the API of the store. They can only be read here.',
  list: 'Items',
  empty: 'There are no items.',
  prefix: 'Namespace begins with',
  prefixHint: 'Labels with periods between them; empty: all.',
  namespace: 'Namespace',
  key: 'Key',
  value: 'Value',
  changed: 'Changed',
  page: (from: number, to: number) => `${formatCount(from)} to ${formatCount(to)}`,
};
