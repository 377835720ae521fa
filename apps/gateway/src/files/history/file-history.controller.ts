import { Controller, Req, Res } from '@nestjs/common';
import {
  fileHistoryRoutes,
  type FileDiffReply,
  type FilePageReply,
  type RouteInput,
  type WorkspaceChangesReply,
} from '@caribou/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/principal.js';
import { API_ROOTS, Caller, Input, Route } from '../../http/route.decorators.js';
import { artifactPath } from '../artifacts/artifact-path.js';
import { sendFile } from '../artifacts/send-file.js';
import { FileHistoryService } from './file-history.service.js';

type Of<Name extends keyof typeof fileHistoryRoutes> = RouteInput<(typeof fileHistoryRoutes)[Name]>;

const keyOf = (caller: Principal, { params }: { readonly params: { readonly thread_id: string } }) => ({
  userId: caller.userId,
  threadId: params.thread_id,
});

/** The files of threads at their checkpoints. */
@Controller(API_ROOTS)
export class FileHistoryController {
  constructor(private readonly history: FileHistoryService) {}

  @Route(fileHistoryRoutes.list)
  list(@Caller() caller: Principal, @Input() input: Of<'list'>): Promise<FilePageReply> {
    return this.history.list(keyOf(caller, input), input.query);
  }

  @Route(fileHistoryRoutes.content)
  async content(
    @Caller() caller: Principal,
    @Input() input: Of<'content'>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const path = artifactPath(input.params['*']);
    const file = await this.history.open(keyOf(caller, input), path, input.query.checkpoint_id);
    await sendFile(file, path, { download: (input.query.download ?? '') !== '', request, reply });
  }

  @Route(fileHistoryRoutes.diff)
  diff(@Caller() caller: Principal, @Input() input: Of<'diff'>): Promise<FileDiffReply> {
    return this.history.diff(keyOf(caller, input), input.query);
  }

  @Route(fileHistoryRoutes.restore)
  restore(@Caller() caller: Principal, @Input() input: Of<'restore'>) {
    return this.history.restore(keyOf(caller, input), input.body);
  }

  @Route(fileHistoryRoutes.workspaceChanges)
  workspaceChanges(
    @Caller() caller: Principal,
    @Input() input: Of<'workspaceChanges'>,
  ): Promise<WorkspaceChangesReply> {
    const { include_files: withFiles, include_diff: withDiffs } = input.query;
    return this.history.changesOfRun(keyOf(caller, input), input.params.run_id, { withFiles, withDiffs });
  }
}
