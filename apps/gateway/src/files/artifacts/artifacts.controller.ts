import { Controller, Req, Res } from '@nestjs/common';
import { fileRoutes, type RouteInput } from '@caribou/contracts';
import type { OpenFile, ThreadKey } from '@caribou/core';
import { FileRefusedError, type UserFiles } from '@caribou/files';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.js';
import { mapFileRefusals } from '../../http/file-answer.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { Dependency } from '../../dependency.js';
import { archivePath } from './archive-entry.js';
import { ArtifactEdits, type EditedArtifact } from './artifact-edits.js';
import { artifactPath } from './artifact-path.js';
import { sendEntry } from './send-entry.js';
import { sendFile } from './send-file.js';

type Artifact = RouteInput<(typeof fileRoutes)['artifact']>;
type Edit = RouteInput<(typeof fileRoutes)['editArtifact']>;

@Controller(API_ROOTS)
export class ArtifactsController {
  constructor(
    @Dependency('userFiles') private readonly files: UserFiles,
    private readonly edits: ArtifactEdits,
  ) {}

  /**
   * Sends a file. The thread's record is not read: files can be uploaded before it exists, and the caller's directory
   * contains no files of other users.
   */
  @Route(fileRoutes.artifact)
  async get(
    @Caller() caller: Principal,
    @Input() { params, query }: Artifact,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const path = artifactPath(params['*']);
    const thread = { userId: caller.userId, threadId: params.thread_id };
    const options = { download: (query.download ?? '') !== '', request, reply };
    const inside = archivePath(path);
    const archive = inside === null ? null : await this.openIfArchive(thread, inside.archive);
    if (inside !== null && archive !== null) {
      await sendEntry(archive, inside.inner, options);
      return;
    }
    const file = await mapFileRefusals(path, () => this.files.open(thread, path));
    await sendFile(file, path, options);
  }

  @Route(fileRoutes.editArtifact)
  async edit(@Caller() caller: Principal, @Input() { params, body }: Edit): Promise<EditedArtifact> {
    const thread = { userId: caller.userId, threadId: params.thread_id };
    return this.edits.edit(thread, artifactPath(params['*']), body);
  }

  /** Opens an archive; returns null when a directory has its name, because the path then leads to a plain file. */
  private async openIfArchive(thread: ThreadKey, path: string): Promise<OpenFile | null> {
    try {
      return await this.files.open(thread, path);
    } catch (error) {
      if (error instanceof FileRefusedError && error.reason === 'is_directory') return null;
      return mapFileRefusals(path, () => Promise.reject(error));
    }
  }
}
