/** The five scripts and the ways each is streamed. A script is a human message the demo model carries out. */
export const SCRIPTS = {
  'plain-text': { lines: ['#say Hello from here'] },
  'one-tool': {
    lines: [
      '#think hm let me',
      '#say Looking now.',
      '#+tool bash {"command":"echo hi there"}',
      '#say It says hi there.',
    ],
  },
  'parallel-tools': {
    lines: [
      '#tool bash {"command":"echo hi there"}',
      '#+tool read_file {"path":"/mnt/user-data/workspace/a.txt"}',
      '#say Both done.',
    ],
  },
  'model-failure': { lines: ['#error 400 nope'] },
  'cancel-midstream': { lines: ['#say One two three', '#+hold HOLD after 2'], cancel: true },
};

export const MODES = [
  'values',
  'messages-tuple',
  'updates',
  'custom',
  'messages',
  'events',
  'debug',
  'tasks',
  'checkpoints',
  'tools',
];

export const RUNS = [
  ...MODES.map((mode) => ({ name: mode, streamMode: [mode] })),
  { name: 'combined', streamMode: ['values', 'messages-tuple', 'updates', 'custom'] },
];
