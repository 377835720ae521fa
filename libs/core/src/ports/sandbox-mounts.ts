import type { DataDirectory } from '../text/virtual-path.js';
import type { CommandIdentity } from '../util/command-identity.js';
import type { ThreadKey } from '../util/thread-key.js';

/** What is mounted at /mnt/skills. */
export interface SkillsMount {
  /** Host path. */
  readonly directory: string;
  /** Distinguishes this directory from one that is created at the same path later. */
  readonly instance: string;
}

/** Host path of each data directory of a thread. */
export type DataMounts = Readonly<Record<DataDirectory, string>>;

/** The part of the data volume that sandboxes mount: drivers ask for host paths and open no file of a user themselves. */
export interface SandboxMounts {
  /** Creates CARIBOU_HOME if it is missing, and closes it to the machine's other users. Idempotent. */
  prepareHome(): void;
  /**
   * Creates the data directories of a thread, owned by the user of its commands. With `owner`, that is him from then on,
   * and he gets all that is in them. Idempotent.
   */
  prepareData(thread: ThreadKey, owner?: CommandIdentity): Promise<void>;
  /** The user of the thread's commands, by its data directories. */
  ownerOf(thread: ThreadKey): Promise<CommandIdentity>;
  /** @throws {AppError} unless each of them is a directory */
  dataOf(thread: ThreadKey): Promise<DataMounts>;
  /** The skills of a user as they are switched on now; undefined where sandboxes have none. @throws {AppError} */
  skillsOf(userId: string): Promise<SkillsMount | undefined>;
}
