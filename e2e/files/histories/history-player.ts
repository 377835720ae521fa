import { newId, type BranchReply, type StateReply } from '@caribou/contracts';
import { FORM, partText } from '../../../apps/gateway/src/testing/file-client.js';
import { checkDeleted, checkThread } from './checks.js';
import { allFiles, applyEffect, checksum, newContent, pick, ThreadModel, uploadPath } from './model.js';
import type { Operation } from './operations.js';
import { RunPlayer } from './run-player.js';
import type { HistorySystem } from './system.js';

const ROOT = '/mnt/user-data/';
type Of<Kind extends Operation['kind']> = Extract<Operation, { readonly kind: Kind }>;

/** Plays the operations of one history on a system and on the model, and compares the two after each. */
export class HistoryPlayer {
  private readonly threads: ThreadModel[] = [];
  private readonly runs: RunPlayer;
  /** What a history that has failed has left. */
  private readonly former: ReadonlySet<string>;

  constructor(private readonly system: HistorySystem) {
    this.runs = new RunPlayer(system);
    this.former = new Set(system.objects());
  }

  async play(operations: readonly Operation[]): Promise<void> {
    for (const [at, operation] of operations.entries()) {
      await this.playOne(operation);
      const touched = 'thread' in operation ? pick(this.threads, operation.thread) : undefined;
      const checked = new Set([touched, pick(this.threads, at), this.threads.at(-1)]);
      for (const model of checked) if (model !== undefined) await checkThread(this.system, model, at * 31 + 7);
    }
    await this.end();
  }

  /** Everything is deleted, one thread after the other; then no object is left. */
  private async end(): Promise<void> {
    for (const model of [...this.threads]) {
      await this.system.collect();
      await checkThread(this.system, model, 0);
      await this.remove(model);
    }
    await this.system.collect();
    expect(this.system.objects().filter((key) => !this.former.has(key))).toEqual([]);
  }

  private async playOne(operation: Operation): Promise<void> {
    if (operation.kind === 'collect') return this.system.collect();
    if (operation.kind === 'restart') return this.system.machines[operation.machine === 0 ? 0 : 1].restart();
    if (operation.kind === 'create' || this.threads.length === 0) await this.create();
    if (operation.kind === 'create') return;
    const model = pick(this.threads, operation.thread);
    if (model === undefined) throw new Error('there is no thread');
    await this.playOn(model, operation);
  }

  private playOn(
    model: ThreadModel,
    operation: Exclude<Operation, Of<'create' | 'collect' | 'restart'>>,
  ): Promise<void> {
    switch (operation.kind) {
      case 'run':
        return this.runs.play(model, operation);
      case 'upload':
        return this.upload(model, operation);
      case 'removeUpload':
        return this.removeUpload(model, operation);
      case 'editArtifact':
        return this.editArtifact(model, operation);
      case 'restoreFile':
        return this.restoreFile(model, operation);
      case 'restoreAll':
        return this.restoreAll(model, operation);
      case 'updateState':
        return this.updateState(model, operation);
      case 'branch':
        return this.branch(model, operation);
      case 'copy':
        return this.copy(model);
      case 'keepLatest':
        return this.keepLatest(model);
      case 'delete':
        return this.remove(model);
    }
  }

  private async create(): Promise<void> {
    const { status, body } = await this.system.ask<{ thread_id: string }>('POST', '', { payload: {} });
    expect(status).toBe(200);
    this.threads.push(new ThreadModel(body.thread_id));
  }

  private async upload(model: ThreadModel, { at, size }: Of<'upload'>): Promise<void> {
    const [path, content] = [uploadPath(at), newContent(size)];
    const payload = `${partText({ name: path.replace('uploads/', ''), content })}--caribou-boundary--\r\n`;
    const { status } = await this.system.ask('POST', `/${model.threadId}/uploads`, { headers: FORM, payload });
    expect(status).toBe(200);
    model.uploads = applyEffect(model.uploads, new Map([[path, content]]));
  }

  private async removeUpload(model: ThreadModel, { at }: Of<'removeUpload'>): Promise<void> {
    const path = pick([...model.uploads.keys()].sort(), at);
    if (path === undefined) return;
    const { status } = await this.system.ask('DELETE', `/${model.threadId}/${path}`);
    expect(status).toBe(200);
    model.uploads = applyEffect(model.uploads, new Map([[path, null]]));
  }

  private async editArtifact(model: ThreadModel, { at, size }: Of<'editArtifact'>): Promise<void> {
    const path = pick([...model.work.keys()].filter((each) => each.startsWith('outputs/')).sort(), at);
    if (path === undefined) return;
    const content = newContent(size);
    const payload = { content, expected_sha256: checksum(model.work.get(path) ?? '') };
    const { status } = await this.system.ask('PUT', `/${model.threadId}/artifacts${ROOT}${path}`, { payload });
    expect(status).toBe(200);
    model.work = applyEffect(model.work, new Map([[path, content]]));
  }

  private async restoreFile(model: ThreadModel, { at, file }: Of<'restoreFile'>): Promise<void> {
    const id = pick([...model.checkpoints.keys()], at);
    const point = id === undefined ? undefined : model.checkpoints.get(id);
    const [path, content] = pick(point === undefined ? [] : [...allFiles(point)], file) ?? [];
    if (path === undefined || content === undefined) return;
    const payload = { checkpoint_id: id, path: `${ROOT}${path}` };
    const { status } = await this.system.ask('POST', `/${model.threadId}/files/restore`, { payload });
    expect(status).toBe(200);
    const effect = new Map([[path, content]]);
    if (path.startsWith('uploads/')) model.uploads = applyEffect(model.uploads, effect);
    else model.work = applyEffect(model.work, effect);
  }

  private async restoreAll(model: ThreadModel, { at }: Of<'restoreAll'>): Promise<void> {
    const id = pick([...model.checkpoints.keys()], at);
    if (id === undefined) return;
    const payload = { checkpoint_id: id };
    const { status } = await this.system.ask('POST', `/${model.threadId}/files/restore`, { payload });
    // Without any file ever there is nothing that could be made the newest.
    if (status !== 404) {
      expect(status).toBe(200);
      model.goBack(id);
      return;
    }
    expect(await this.system.generations.head({ userId: 'default', threadId: model.threadId })).toBeNull();
  }

  /** A client writes a checkpoint, on the head or on an older one. */
  private async updateState(model: ThreadModel, { at }: Of<'updateState'>): Promise<void> {
    const id = at % 3 === 0 ? undefined : pick([...model.checkpoints.keys()], at);
    const payload = { values: { title: `title ${newId()}` }, ...(id === undefined ? {} : { checkpoint_id: id }) };
    const path = `/${model.threadId}/state`;
    const { status, body } = await this.system.ask<{ checkpoint_id: string }>('POST', path, { payload });
    expect(status).toBe(200);
    if (id !== undefined && id !== model.headId) model.goBack(id);
    model.capture(body.checkpoint_id);
  }

  private async copy(model: ThreadModel): Promise<void> {
    const { status, body } = await this.system.ask<{ thread_id: string }>('POST', `/${model.threadId}/copy`, {
      payload: {},
    });
    expect(status).toBe(200);
    this.threads.push(model.copy(body.thread_id));
  }

  private async branch(model: ThreadModel, { at }: Of<'branch'>): Promise<void> {
    const { threadId } = model;
    const page = await this.system.ask<{ data: { content: { id: string; type: string } }[] }>(
      'GET',
      `/${threadId}/messages/page`,
    );
    const answer = pick(
      page.body.data.filter(({ content }) => content.type === 'ai'),
      at,
    );
    if (answer === undefined) return;
    const state = await this.system.ask<StateReply>('GET', `/${threadId}/state`);
    expect(state.body.checkpoint?.checkpoint_id).toBe(model.headId);
    const payload = { message_id: answer.content.id };
    const { status, body } = await this.system.ask<BranchReply>('POST', `/${threadId}/branches`, { payload });
    // The end of its turn is no longer stored.
    if (status === 409) return;
    expect(status).toBe(200);
    const cut = body.parent_checkpoint_id === model.headId ? undefined : body.parent_checkpoint_id;
    this.threads.push(model.copy(body.thread_id, cut));
  }

  private async keepLatest(model: ThreadModel): Promise<void> {
    const payload = { thread_ids: [model.threadId], strategy: 'keep_latest' };
    const { status } = await this.system.ask('POST', '/prune', { payload });
    expect(status).toBe(200);
    for (const id of [...model.checkpoints.keys()]) {
      if (id === model.headId) continue;
      model.checkpoints.delete(id);
      const gone = await this.system.ask('GET', `/${model.threadId}/files?checkpoint_id=${id}`);
      expect(gone.status).toBe(404);
    }
  }

  private async remove(model: ThreadModel): Promise<void> {
    const { status } = await this.system.ask('DELETE', `/${model.threadId}`);
    expect(status).toBe(204);
    this.threads.splice(this.threads.indexOf(model), 1);
    await checkDeleted(this.system, model.threadId);
  }
}
