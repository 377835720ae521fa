import { newId, omitUndefined, type RunEvent } from '@caribou/contracts';

/** What an append says of the open message: a new one, or null for none; and messages that were discarded. */
interface MessageChange {
  readonly openMessageId?: string | null;
  readonly dropped?: readonly string[];
}

/** The message that a run streams: as its events have it, and as the log knows it. */
export class OpenMessage {
  private openId: string | null = null;
  private loggedId: string | null = null;
  /** Of the message that a commit has opened, until it begins. */
  private nextId: string | undefined;

  /** Notes a commit, which closes the open message. @param next the message that it opened in the log, if any */
  noteCommit(next: string | undefined): void {
    this.nextId = next;
    this.loggedId = this.openId = next ?? null;
  }

  /** The id for the next message of the model: the one that the log knows from the last commit, once; then new ones. */
  takeId(): string {
    const id = this.nextId ?? newId();
    this.nextId = undefined;
    return id;
  }

  /** Whether the event belongs to the message that the log knows: the start of its task, its own start, or a piece. */
  has(event: RunEvent): boolean {
    if (this.loggedId === null) return false;
    if (event.kind === 'task.start') return true;
    return (event.kind === 'model.start' || event.kind === 'message.delta') && event.message_id === this.loggedId;
  }

  /** What changes for the log with an append of these events. */
  changeBy(events: readonly RunEvent[]): MessageChange {
    const dropped: string[] = [];
    for (const event of events) {
      if (event.kind === 'message.delta' || event.kind === 'model.start') this.openId = event.message_id;
      if (event.kind === 'run.start' && event.dropped_message_ids.length > 0) {
        dropped.push(...event.dropped_message_ids);
        this.openId = null;
      }
    }
    const openMessageId = this.openId === this.loggedId ? undefined : this.openId;
    return omitUndefined({ openMessageId, dropped: dropped.length === 0 ? undefined : dropped });
  }

  /** Notes that the log has what `changeBy` returned last. */
  noteAppended(): void {
    this.loggedId = this.openId;
  }
}
