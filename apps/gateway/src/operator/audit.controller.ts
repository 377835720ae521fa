import { Readable } from 'node:stream';
import { Controller, Res } from '@nestjs/common';
import { auditRoutes, type RouteInput } from '@caribou/contracts';
import type { FastifyReply } from 'fastify';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import { AuditService } from './audit.service.js';

type Of<Name extends keyof typeof auditRoutes> = RouteInput<(typeof auditRoutes)[Name]>;

@Controller(API_ROOTS)
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  @Route(auditRoutes.list)
  list(@Input() { query }: Of<'list'>) {
    return this.audit.list(query);
  }

  /** The reply reads the next lines when the client has taken those before. */
  @Route(auditRoutes.exportLines)
  async exportLines(@Input() { query }: Of<'exportLines'>, @Res() reply: FastifyReply): Promise<void> {
    const lines = Readable.from(this.audit.lines(query), { objectMode: false, highWaterMark: 64 * 1024 });
    void reply.headers({
      'content-type': 'application/x-ndjson; charset=utf-8',
      'content-disposition': 'attachment; filename="audit.ndjson"',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    await reply.send(lines);
  }
}
