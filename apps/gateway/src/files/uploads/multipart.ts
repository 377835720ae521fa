import multipart from '@fastify/multipart';
import { AppError, BadRequestError, DeadlineError, UnsupportedMediaTypeError } from '@caribou/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';

const UPLOAD_ROUTE = /^\/api\/(langgraph\/)?(threads\/:thread_id\/uploads|skills\/upload)$/;

/** Makes the upload routes the only ones that take multipart bodies, and refuses every other body there. */
export async function registerMultipart(server: FastifyInstance): Promise<void> {
  await server.register(multipart, { throwFileSizeLimit: false });
  server.addHook('onRequest', (request, _reply, done) => {
    const isMultipart = /^multipart\//i.test(request.headers['content-type'] ?? '');
    const isUpload = request.method === 'POST' && UPLOAD_ROUTE.test(request.routeOptions.url ?? '');
    if (isMultipart === isUpload) done();
    else done(new UnsupportedMediaTypeError(`the content type must be ${isUpload ? FORM : 'application/json'}`));
  });
}

const FORM = 'multipart/form-data';

/** Maximum number of fields other than files, and maximum size of one; clients send only short ones. */
const MAX_FIELDS = 100;
const MAX_FIELD_BYTES = 65_536;

/** Maximum time without data from the client. */
const IDLE_MS = 60_000;

/** One file of a multipart body; its stream must be read to the end before the next file can be read. */
export interface FilePart {
  readonly field: string;
  /** The name that the client sent, which may be a path or any other text. */
  readonly name: string;
  readonly content: AsyncIterable<Uint8Array>;
}

/**
 * The files of a request as they arrive. The caller must limit their number and size.
 *
 * @throws {BadRequestError} when the body is not a form, ends too early, or the connection is lost
 * @throws {DeadlineError} when the client sends nothing for a minute
 */
export async function* readFileParts(request: FastifyRequest): AsyncGenerator<FilePart> {
  const silence = setTimeout(() => {
    request.raw.destroy(new DeadlineError('the upload fell silent', { details: { afterMs: IDLE_MS } }));
  }, IDLE_MS);
  const onData = (): unknown => silence.refresh();
  request.raw.on('data', onData);
  try {
    const parts = request.parts({
      preservePath: true,
      limits: {
        // The parser's own defaults would cut files off without an error.
        files: Infinity,
        fileSize: Infinity,
        fields: MAX_FIELDS,
        fieldSize: MAX_FIELD_BYTES,
      },
    });
    for await (const part of parts) {
      if (part.type === 'file') yield { field: part.fieldname, name: part.filename, content: mapReadErrors(part.file) };
    }
  } catch (error) {
    throw toBodyError(error);
  } finally {
    clearTimeout(silence);
    request.raw.off('data', onData);
  }
}

async function* mapReadErrors(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (error) {
    throw toBodyError(error);
  }
}

/**
 * Turns errors about the bytes or the connection into BadRequestError; refusals of the parser already have a status.
 */
function toBodyError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (typeof error === 'object' && error !== null && 'statusCode' in error) return error;
  return new BadRequestError('the body is not a whole multipart form', { cause: error });
}
