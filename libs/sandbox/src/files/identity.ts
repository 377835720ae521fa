/** The user a command runs as, and that owns the data directories. */
export interface CommandIdentity {
  readonly uid: number;
  readonly gid: number;
}

/** Commands of every sandbox when the process may choose: a user that nothing else on the machine is. */
const DEDICATED: CommandIdentity = { uid: 10_001, gid: 10_001 };

/** PID 1 of a docker box: another user than the commands, so that they cannot signal it. */
export const KEEPER: CommandIdentity = { uid: 10_002, gid: 10_002 };

/**
 * The dedicated user when this process is root; else the process's own, as it can give files to nobody else. Never
 * root.
 */
export function commandIdentity(): CommandIdentity {
  const uid = process.getuid?.() ?? DEDICATED.uid;
  const gid = process.getgid?.() ?? DEDICATED.gid;
  return uid === 0 ? DEDICATED : { uid, gid };
}
