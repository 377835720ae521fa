import { Controller, Header, Inject, Res } from '@nestjs/common';
import { systemRoutes } from '@caribou/contracts';
import type { Metrics } from '@caribou/observability';
import type { FastifyReply } from 'fastify';
import { API_ROOTS, Route } from '../http/route.decorators.js';
import { METRICS } from '../ports.js';
import { docsPage } from './docs-page.js';
import { openApiDocument } from './openapi.js';
import { ReadinessCheck } from './readiness.js';

const VERSION = '0.1.0';

@Controller(API_ROOTS)
export class InfoController {
  @Route(systemRoutes.ok)
  ok() {
    return { ok: true };
  }

  @Route(systemRoutes.info)
  info() {
    return { version: VERSION, context: {}, flags: { assistants: true, crons: false, langsmith: false } };
  }
}

@Controller()
export class SystemController {
  /** Made when it is first asked for: that takes longer than many a start. */
  private document: ReturnType<typeof openApiDocument> | undefined;

  constructor(
    private readonly readiness: ReadinessCheck,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  @Route(systemRoutes.openapi)
  openApi() {
    return this.described();
  }

  @Route(systemRoutes.docs)
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
  docs() {
    return docsPage(this.described());
  }

  @Route(systemRoutes.health)
  health() {
    return { status: 'healthy' };
  }

  @Route(systemRoutes.ready)
  async ready(@Res() reply: FastifyReply) {
    const missing = await this.readiness.missing();
    const ready = Object.keys(missing).length === 0;
    await reply.status(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not ready', missing });
  }

  @Route(systemRoutes.metrics)
  async figures(@Res() reply: FastifyReply) {
    await reply.type(this.metrics.contentType).send(await this.metrics.text());
  }

  private described() {
    return (this.document ??= openApiDocument(VERSION));
  }
}
