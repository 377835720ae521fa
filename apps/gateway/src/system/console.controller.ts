import { createHash } from 'node:crypto';
import { NotFoundError, type RouteInput, systemRoutes } from '@caribou/contracts';
import type { ConsoleFile, ConsoleFiles } from '@caribou/page-files';
import { Controller, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Dependency } from '../dependency.js';
import { UNKNOWN_PATH } from '../http/error.filter.js';
import { Input, Route } from '../http/route.decorators.js';
import { acceptedEncoding } from './accepted-encoding.js';
import { CONSOLE_HEADERS } from './console-headers.js';
import { belowPrefix, forwardedPrefix, missingConsolePage } from './console-page.js';

/** A browser asks again each time, and gets the content only when it has changed. */
const ASK_AGAIN = 'no-cache';
const FOR_EVER = 'public, max-age=31536000, immutable';

/** Serves the files of the console. */
@Controller()
export class ConsoleController {
  constructor(@Dependency('consoleFiles') private readonly files: ConsoleFiles) {}

  /** Answers browsers with the console; other clients get the same 404 as for any unknown path. */
  @Route(systemRoutes.home)
  async home(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    addVary(reply, 'Accept');
    if (request.headers.accept?.includes('text/html') !== true) throw new NotFoundError(UNKNOWN_PATH);
    void reply.headers(CONSOLE_HEADERS);
    addVary(reply, 'X-Forwarded-Prefix');
    const index = await this.files.get('index.html');
    if (index === undefined) await reply.type('text/html; charset=utf-8').send(missingConsolePage);
    else {
      const prefix = forwardedPrefix(request.headers['x-forwarded-prefix']);
      await send(prefix === undefined ? index : pageBelow(index, prefix), { request, reply, cacheControl: ASK_AGAIN });
    }
  }

  @Route(systemRoutes.consoleIcon)
  async icon(@Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    await send(await this.find('icon.svg'), { request, reply, cacheControl: ASK_AGAIN });
  }

  @Route(systemRoutes.consoleFile)
  async file(
    @Input() { params }: RouteInput<typeof systemRoutes.consoleFile>,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ) {
    await send(await this.find(`assets/${params.file}`), { request, reply, cacheControl: FOR_EVER });
  }

  /** @throws {NotFoundError} as for any unknown path */
  private async find(name: string): Promise<ConsoleFile> {
    const file = await this.files.get(name);
    if (file === undefined) throw new NotFoundError(UNKNOWN_PATH);
    return file;
  }
}

function pageBelow(index: ConsoleFile, prefix: string): ConsoleFile {
  const content = Buffer.from(belowPrefix(index.content.toString(), prefix));
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, 22);
  return { ...index, hash, content, encoded: new Map() };
}

interface Sending {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly cacheControl: string;
}

/** Sends a file in a coding that the client accepts, or 304 when the client has it. */
async function send(file: ConsoleFile, { request, reply, cacheControl }: Sending): Promise<void> {
  const etag = `W/"${file.hash}"`;
  addVary(reply, 'Accept-Encoding');
  void reply.headers({ 'cache-control': cacheControl, etag });
  if (hasTag(request.headers['if-none-match'], etag)) {
    await reply.status(304).send();
    return;
  }
  const encoding = acceptedEncoding(request.headers['accept-encoding'], file.encoded);
  const encoded = encoding === undefined ? undefined : file.encoded.get(encoding);
  if (encoding !== undefined && encoded !== undefined) void reply.header('content-encoding', encoding);
  await reply.type(file.contentType).send(encoded ?? file.content);
}

const hasTag = (header: string | undefined, etag: string): boolean =>
  header !== undefined && header.split(',').some((tag) => ['*', etag].includes(tag.trim()));

/** Adds a header that the answer depends on to those that are named already, for origins of other pages. */
function addVary(reply: FastifyReply, name: string): void {
  const known = reply.getHeader('vary');
  void reply.header('vary', known === undefined ? name : `${String(known)}, ${name}`);
}
