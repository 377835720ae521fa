import type { AgentRefusal, MirrorPosition } from '@caribou/contracts';
import { ConflictError } from '@caribou/contracts';
import { commandIdentity, type MirrorCounts, type MirrorStep, VIRTUAL_ROOT } from '@caribou/core';
import { LocalMirror, SkillsDirectory } from '@caribou/files';
import { AGENT_LIMITS } from '@caribou/contracts';

const STAGING = `${VIRTUAL_ROOT}/.caribou`;
/** Starting a program costs this small process what looking at so many entries does. */
const MAX_WALKED = 500;
const MAX_SKILLS_BYTES = 1024 * 1024 * 1024;

export const refusal = (reason: AgentRefusal, message: string): ConflictError =>
  new ConflictError(message, { details: { reason } });

/** The files of the sandbox, and what its manager knows of them. */
export class SandboxFiles {
  readonly skills: SkillsDirectory;
  private readonly mirror: LocalMirror;
  private session: string | null = null;
  /** Of the last changes that were sent. */
  private number = 0;

  constructor(skillsDirectory: string) {
    const owner = commandIdentity();
    const bounds = {
      entries: 2 * AGENT_LIMITS.entries,
      bytes: AGENT_LIMITS.changeBytes,
      fileBytes: AGENT_LIMITS.fileBytes,
    };
    this.mirror = new LocalMirror({
      userData: VIRTUAL_ROOT,
      staging: STAGING,
      owner,
      bounds,
      isAlone: true,
      maxWalked: MAX_WALKED,
    });
    this.skills = new SkillsDirectory(skillsDirectory, owner, { ...bounds, bytes: MAX_SKILLS_BYTES });
  }

  get position(): { readonly session: string | null; readonly number: number } {
    return { session: this.session, number: this.number };
  }

  /**
   * Compares what the client knows with what is here.
   *
   * @throws {ConflictError} `other_session` when the client has to send everything; `not_acknowledged` when it did not get the last changes
   */
  async begin({ session, reset, ack }: MirrorPosition): Promise<void> {
    if (reset) return this.clear(session);
    this.requireSession(session, ack);
    if (ack < this.number)
      throw refusal('not_acknowledged', 'the sandbox has changes of files that are to be pulled first');
    this.mirror.onSent();
  }

  /** The same for a client that asks for changes. */
  beginPull({ session, ack }: MirrorPosition): void {
    this.requireSession(session, ack);
    if (ack === this.number) this.mirror.onSent();
  }

  receive(steps: AsyncIterable<MirrorStep>): Promise<MirrorCounts> {
    return this.mirror.receive(steps);
  }

  /** What commands have changed; the number of these changes is that of `position` from then on. */
  async *changes(): AsyncGenerator<MirrorStep, void, undefined> {
    this.number += 1;
    yield* this.mirror.changes();
  }

  /** Removes what lies beside the files while they are exchanged. */
  async tidy(): Promise<void> {
    await this.mirror.close();
  }

  private requireSession(session: string, ack: number): void {
    if (session === this.session && ack <= this.number) return;
    throw refusal('other_session', 'the sandbox has other files than those that changes are sent for');
  }

  private async clear(session: string): Promise<void> {
    this.session = null;
    await this.mirror.empty();
    this.session = session;
    this.number = 0;
  }
}
