import {
  type FileDiffReply,
  type FilePageReply,
  ForbiddenError,
  omitUndefined,
  type RunRecord,
  type WorkspaceChangesReply,
} from '@caribou/contracts';
import type { FileTrees, OpenFile, ThreadKey } from '@caribou/core';
import type { FileHistory } from '@caribou/files';
import type { ThreadStore } from '@caribou/state';
import { Injectable } from '@nestjs/common';
import { Dependency } from '../../dependency.js';
import { mapFileRefusals } from '../../http/file-answer.js';
import { artifactPath } from '../artifacts/artifact-path.js';
import { toFileDiff, toWorkspaceChanges } from './changes-json.js';

interface ListQuery {
  readonly checkpoint_id?: string | undefined;
  readonly directory?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

const DISABLED = 'files have no history here: config.yaml has no section files (docs/files.md)';

/** Files of threads at their checkpoints. Every method but `changesOfRun` throws ForbiddenError without an object store. */
@Injectable()
export class FileHistoryService {
  constructor(
    @Dependency('threadStore')
    private readonly store: Pick<ThreadStore, 'getThread' | 'getRun' | 'checkpoint' | 'checkpointsOfRun'>,
    @Dependency('fileHistory') private readonly history: FileHistory | null,
  ) {}

  /** @throws {NotFoundError} for an unknown thread or checkpoint */
  async list(thread: ThreadKey, query: ListQuery): Promise<FilePageReply> {
    const history = await this.historyOf(thread, query.checkpoint_id);
    const { checkpoint_id: checkpointId, after, limit } = query;
    const directory = query.directory === undefined ? undefined : artifactPath(query.directory);
    const { files, next } = await history.list(thread, { limit, ...omitUndefined({ checkpointId, directory, after }) });
    return { files: files.map(({ modifiedMs, ...file }) => ({ ...file, modified: modifiedMs / 1_000 })), next };
  }

  /** @throws {NotFoundError} for an unknown thread, checkpoint or file */
  async open(thread: ThreadKey, path: string, checkpointId: string | undefined): Promise<OpenFile> {
    const history = await this.historyOf(thread, checkpointId);
    return mapFileRefusals(path, () => history.open(thread, path, checkpointId));
  }

  /** @throws {ConflictError} when it is not known which files there were at a checkpoint */
  async diff(
    thread: ThreadKey,
    { from, to }: { readonly from: string; readonly to?: string | undefined },
  ): Promise<FileDiffReply> {
    const history = await this.historyOf(thread, from);
    if (to !== undefined) await this.historyOf(thread, to);
    const points = { from: await history.treesAt(thread, from), to: await history.treesAt(thread, to) };
    return toFileDiff(await history.compare(thread, points));
  }

  /** @throws {ConflictError} for all files while a run is in flight, or when it is not known which there were */
  async restore(
    thread: ThreadKey,
    {
      checkpoint_id: checkpointId,
      path: given,
    }: { readonly checkpoint_id: string; readonly path?: string | undefined },
  ) {
    const history = await this.historyOf(thread, checkpointId);
    const path = given === undefined ? undefined : artifactPath(given);
    const { generation } =
      path === undefined
        ? await history.restoreAll(thread, checkpointId)
        : await mapFileRefusals(path, () => history.restoreFile(thread, path, checkpointId));
    return { checkpoint_id: checkpointId, path: path ?? null, generation };
  }

  /** What a run changed until now, or its end, of what commands write. @throws {NotFoundError} for an unknown run */
  async changesOfRun(
    thread: ThreadKey,
    runId: string,
    shown: { readonly withFiles: boolean; readonly withDiffs: boolean },
  ): Promise<WorkspaceChangesReply> {
    const run = await this.store.getRun(thread, runId);
    const { history } = this;
    const points = history === null ? null : await this.pointsOf(history, thread, run);
    if (history === null || points === null) return { available: false };
    return toWorkspaceChanges(await history.compare(thread, { ...points, parts: ['work'] }), shown);
  }

  /** The files before and after a run; null when they are not known any more. */
  private async pointsOf(
    history: FileHistory,
    thread: ThreadKey,
    run: RunRecord,
  ): Promise<{ readonly from: FileTrees; readonly to: FileTrees } | null> {
    const written = await this.store.checkpointsOfRun(thread, run.run_id);
    if (written === null) return null;
    const { first, last } = written;
    const begin =
      first.source === 'input'
        ? first.checkpointId
        : (run.fork_checkpoint_id ?? run.base_checkpoint_id ?? first.parentId);
    const isKnown = await history.isRecorded(thread, last);
    if (!isKnown || (begin !== null && !(await history.isRecorded(thread, begin)))) return null;
    return {
      from: begin === null ? {} : await history.treesAt(thread, begin),
      to: await history.treesAt(thread, last),
    };
  }

  /** @throws {ForbiddenError} without an object store @throws {NotFoundError} for an unknown thread or checkpoint */
  private async historyOf(thread: ThreadKey, checkpointId: string | undefined): Promise<FileHistory> {
    if (this.history === null) throw new ForbiddenError(DISABLED);
    if (checkpointId === undefined) await this.store.getThread(thread);
    else if (!(await this.history.hasGeneration(thread, checkpointId)))
      await this.store.checkpoint(thread, checkpointId);
    return this.history;
  }
}
