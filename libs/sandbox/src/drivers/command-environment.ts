import { VIRTUAL_ROOT } from '@caribou/core';
import { NETWORK_ENVIRONMENT } from './sandbox-network.js';

/** Where every command starts. */
export const WORKING_DIRECTORY = `${VIRTUAL_ROOT}/workspace`;

const COMMAND_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: WORKING_DIRECTORY,
  USER: 'sandbox',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: '/tmp',
};

/** The whole environment of a command. */
export const commandEnvironment = (hasNetwork: boolean): Readonly<Record<string, string>> =>
  hasNetwork ? { ...COMMAND_ENVIRONMENT, ...NETWORK_ENVIRONMENT } : COMMAND_ENVIRONMENT;
