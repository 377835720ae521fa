import { Controller, Inject, Req, Res } from '@nestjs/common';
import { fileRoutes, type RouteInput } from '@caribou/contracts';
import type { UserFiles } from '@caribou/sandbox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../auth/principal.js';
import { answeringRefusals } from '../http/file-answer.js';
import { API_ROOTS, Caller, Input, Route } from '../http/route.decorators.js';
import { USER_FILES } from '../ports.js';
import { artifactPath } from './artifact-path.js';
import { sendFile } from './send-file.js';

type Artifact = RouteInput<(typeof fileRoutes)['artifact']>;

@Controller(API_ROOTS)
export class ArtifactsController {
  constructor(@Inject(USER_FILES) private readonly files: UserFiles) {}

  /** The thread's record is not asked: uploads come before it, and another user's files are not below this one's. */
  @Route(fileRoutes.artifact)
  async get(
    @Caller() caller: Principal,
    @Input() { params, query }: Artifact,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const path = artifactPath(params['*']);
    const thread = { userId: caller.userId, threadId: params.thread_id };
    const handle = await answeringRefusals(path, () => this.files.open(thread, path));
    await sendFile(handle, { path, download: (query.download ?? '') !== '', request, reply });
  }
}
