import { Controller, Header, Req, Res } from '@nestjs/common';
import { type ViewerFile, ViewerFiles } from '@caribou/page-files';
import { NotFoundError, type RouteInput, systemRoutes, VERSION } from '@caribou/contracts';
import type { Readiness } from '@caribou/service';
import type { Metrics } from '@caribou/observability';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { findPrincipal } from '../auth/principal.js';
import { UNKNOWN_PATH } from '../http/error.filter.js';
import { API_ROOTS, Input, Route } from '../http/route.decorators.js';
import { Dependency } from '../dependency.js';
import type { GatewaySettings } from '../settings.js';
import { DOCS_POLICY, docsPage, docsScript } from './docs-page.js';
import { createOpenApiDocument } from './openapi.js';
import { ReadinessCheck } from './readiness.js';

const HTML = 'text/html; charset=utf-8';
const startScript: ViewerFile = { contentType: 'text/javascript; charset=utf-8', content: Buffer.from(docsScript) };

@Controller(API_ROOTS)
export class InfoController {
  constructor(@Dependency('settings') private readonly settings: Pick<GatewaySettings, 'auth'>) {}

  @Route(systemRoutes.ok)
  ok() {
    return { ok: true };
  }

  @Route(systemRoutes.info)
  info() {
    return {
      version: VERSION,
      context: {},
      flags: {
        ...{ assistants: true, crons: true, langsmith: false, stream_namespaces: true },
        sign_in: this.settings.auth.enabled,
      },
    };
  }
}

@Controller()
export class SystemController {
  /** The OpenAPI document. It is created on the first request, because that takes longer than the rest of the start. */
  private document: ReturnType<typeof createOpenApiDocument> | undefined;
  private readonly viewer = new ViewerFiles();

  constructor(
    private readonly readiness: ReadinessCheck,
    @Dependency('metrics') private readonly metrics: Metrics,
  ) {}

  @Route(systemRoutes.openapi)
  getOpenApi() {
    return this.getDocument();
  }

  @Route(systemRoutes.docs)
  @Header('content-type', HTML)
  @Header('content-security-policy', DOCS_POLICY)
  @Header('x-frame-options', 'DENY')
  docs() {
    return docsPage;
  }

  @Route(systemRoutes.docsFile)
  async docsFile(@Input() { params }: RouteInput<typeof systemRoutes.docsFile>, @Res() reply: FastifyReply) {
    const file = params.file === 'start.js' ? startScript : await this.viewer.get(params.file);
    if (file === undefined) throw new NotFoundError(UNKNOWN_PATH);
    await reply.type(file.contentType).header('cache-control', 'public, max-age=3600').send(file.content);
  }

  @Route(systemRoutes.health)
  health() {
    return { status: 'healthy' };
  }

  @Route(systemRoutes.ready)
  async ready(
    @Input() { query }: RouteInput<typeof systemRoutes.ready>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    const readiness = query.for === 'traffic' ? this.readiness.forTraffic() : await this.readiness.now();
    const shown = findPrincipal(request)?.admin === true ? readiness : withoutReasons(readiness);
    await reply.status(readiness.status === 'ready' ? 200 : 503).send(shown);
  }

  @Route(systemRoutes.metrics)
  async figures(@Res() reply: FastifyReply) {
    await reply.type(this.metrics.contentType).send(await this.metrics.text());
  }

  private getDocument() {
    return (this.document ??= createOpenApiDocument(VERSION));
  }
}

/** The readiness for callers who are not administrators: reasons may contain hosts and paths of the installation. */
const withoutReasons = ({ status, missing, degraded }: Readiness): Readiness => ({
  status,
  missing: namesOf(missing),
  degraded: namesOf(degraded),
});

const namesOf = (reasons: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.keys(reasons).map((name) => [name, 'not available; administrators are told the reason']));
