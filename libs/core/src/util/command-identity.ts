/** The user that commands run as, who also owns the data directories. */
export interface CommandIdentity {
  readonly uid: number;
  readonly gid: number;
}

/** Commands of every sandbox when the process may choose: a user that nothing else on the machine is. */
const DEDICATED: CommandIdentity = { uid: 10_001, gid: 10_001 };
const OWNER_BITS = 0o700;
const GROUP_SEARCH = 0o010;

/**
 * The dedicated user when this process is root; else the process's own, as it cannot give files to another user. Never
 * root.
 */
export function commandIdentity(): CommandIdentity {
  const uid = process.getuid?.() ?? DEDICATED.uid;
  const gid = process.getgid?.() ?? DEDICATED.gid;
  return uid === 0 ? DEDICATED : { uid, gid };
}

/**
 * Owner and mode of the platform's own directories, which are closed to the machine's other users. As root, the user of
 * commands may pass through them by its group.
 */
export function closedDirectoryOf(commands: CommandIdentity): {
  readonly owner: CommandIdentity;
  readonly mode: number;
} {
  return process.getuid?.() === 0
    ? { owner: { uid: 0, gid: commands.gid }, mode: OWNER_BITS | GROUP_SEARCH }
    : { owner: commands, mode: OWNER_BITS };
}
