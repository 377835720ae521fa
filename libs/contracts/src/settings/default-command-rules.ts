import type { CommandMatch, CommandRule } from './command-rules.js';

const SHELLS = ['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash'];
const INTERPRETERS = [...SHELLS, 'python*', 'perl', 'ruby', 'node', 'php'];
/** Commands whose output comes from elsewhere or can be anything; it must not be executed without a check. */
const SOURCES = ['curl', 'wget', 'bash', 'sh', 'python*', 'ruby', 'perl', 'base64'];
/** Commands that print their arguments and do not open them. */
const PRINTERS = ['echo', 'printf'];

const block = (id: string, message: string, match: CommandMatch): CommandRule => ({
  id,
  verdict: 'block',
  message,
  match,
});
const warn = (id: string, message: string, match: CommandMatch): CommandRule => ({
  ...block(id, message, match),
  verdict: 'warn',
});

/** The default rules, which the configuration can change. */
export const DEFAULT_COMMAND_RULES: readonly CommandRule[] = [
  block('rm-root', 'recursive removal of a system or home directory', {
    commands: ['rm'],
    flags: ['r', 'R', 'recursive'],
    arguments: ['/', '/\\*', '~', '~/\\*', '/home', '/home/\\*', '/root', '/root/\\*'],
  }),
  block('dd-input', 'raw copy with dd', { commands: ['dd'], arguments: ['if=*'] }),
  block('mkfs', 'making a file system', { commands: ['mkfs', 'mkfs.*'] }),
  block('read-shadow', 'access to /etc/shadow', {
    files: ['/etc/shadow', '*=/etc/shadow', '@/etc/shadow'],
    except: PRINTERS,
  }),
  block('write-etc', 'writing into /etc', { writes: ['/etc/*'] }),
  block('write-system-binaries', 'writing into a directory of system programs', {
    writes: ['/usr/bin/*', '/bin/*', '/sbin/*'],
  }),
  block('write-shell-profile', 'writing into a start file of the shell', {
    writes: ['~/.bashrc', '~/.profile', '~/.zshrc', '~/.bash_profile'],
  }),
  block('pipe-into-shell', 'piping into a shell', { commands: SHELLS, piped_from: true }),
  block('base64-pipe', 'piping decoded base64 on', {
    commands: ['base64'],
    flags: ['d', 'D', 'decode'],
    piped_into: true,
  }),
  block('run-output', 'running the output of another command', { command_from: SOURCES }),
  block('eval-output', 'evaluating the output of another command', {
    commands: ['eval', 'source', '.'],
    argument_from: SOURCES,
  }),
  block('interpret-output', 'interpreting the output of another command', {
    commands: INTERPRETERS,
    flags: ['c', 'e', 'p', 'r'],
    argument_from: SOURCES,
  }),
  block('interpret-input', 'interpreting the output of another command', {
    commands: INTERPRETERS,
    input_from: SOURCES,
  }),
  block('process-environment', 'reading the environment of a process', {
    files: ['/proc/*/environ'],
    except: PRINTERS,
  }),
  block('library-preload', 'loading other libraries into programs', { assigns: ['LD_PRELOAD', 'LD_LIBRARY_PATH'] }),
  block('shell-socket', 'opening a network connection from the shell', { files: ['/dev/tcp/*'], except: PRINTERS }),
  block('fork-bomb', 'fork bomb', { fork_bomb: true }),
  warn('chmod-777', 'opens files to everybody', { commands: ['chmod'], arguments: ['777', '0777'] }),
  warn('pip-install', 'installs packages', { commands: ['pip', 'pip3'], subcommand: ['install'] }),
  warn('apt-install', 'installs packages', { commands: ['apt', 'apt-get'], subcommand: ['install'] }),
  warn('change-user', 'acts as another user', { commands: ['sudo', 'su'] }),
  warn('set-path', 'changes where programs are looked for', { assigns: ['PATH'] }),
];
