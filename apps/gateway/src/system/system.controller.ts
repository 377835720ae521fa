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
  private readonly document = openApiDocument(VERSION);
  private readonly page = docsPage(this.document);

  constructor(
    private readonly readiness: ReadinessCheck,
    @Inject(METRICS) private readonly metrics: Metrics,
  ) {}

  @Route(systemRoutes.openapi)
  openApi() {
    return this.document;
  }

  @Route(systemRoutes.docs)
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
  docs() {
    return this.page;
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
}
