import { VIRTUAL_ROOT } from '@caribou/core';

/** Where every command starts. */
export const WORKING_DIRECTORY = `${VIRTUAL_ROOT}/workspace`;

/** All that a command finds in its environment. */
export const COMMAND_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: WORKING_DIRECTORY,
  USER: 'sandbox',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: '/tmp',
};
