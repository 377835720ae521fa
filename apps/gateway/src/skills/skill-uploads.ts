import { BadRequestError, RateLimitedError, type SkillInstallReply, TooLargeError } from '@caribou/contracts';
import type { SkillFiles } from '@caribou/files';
import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Dependency } from '../dependency.js';
import { type FilePart, readFileParts } from '../files/uploads/multipart.js';
import { drainRequest } from '../http/drain-request.js';
import { mapFileRefusals } from '../http/file-answer.js';
import type { GatewaySettings } from '../settings.js';
import { SkillInstaller } from './skill-installer.js';

const FIELD = 'file';
/** Concurrent uploads of one gateway. A user has one at a time, so that slow ones of one user do not use up all. */
const MAX_AT_ONCE = 20;

/** Installs skills from archives in the bodies of requests. An archive may be as large as an upload of a thread. */
@Injectable()
export class SkillUploads {
  private readonly uploaders = new Set<string>();

  constructor(
    private readonly installer: SkillInstaller,
    @Dependency('skillFiles') private readonly files: SkillFiles,
    @Dependency('settings') private readonly settings: GatewaySettings,
  ) {}

  /**
   * @throws {BadRequestError} without a file, with a name that is not `.skill`, and for a malformed archive
   * @throws {TooLargeError} as soon as the archive is larger than `uploads.max_file_size`
   * @throws {RateLimitedError} while another upload of the user is received, or too many of all users
   */
  async install(userId: string, request: FastifyRequest): Promise<SkillInstallReply> {
    try {
      if (this.uploaders.has(userId) || this.uploaders.size >= MAX_AT_ONCE)
        throw new RateLimitedError('another skill is being received; send this one after it');
      this.uploaders.add(userId);
      try {
        return await this.receive(userId, request);
      } finally {
        this.uploaders.delete(userId);
      }
    } finally {
      drainRequest(request, this.settings.uploads.maxTotalSize);
    }
  }

  private async receive(userId: string, request: FastifyRequest): Promise<SkillInstallReply> {
    for await (const part of readFileParts(request)) {
      const content = contentOf(part, this.settings.uploads.maxFileSize);
      const archive = await mapFileRefusals('the skill', () => this.files.receive(userId, content));
      try {
        return await this.installer.installArchive(userId, archive);
      } finally {
        await archive.close();
      }
    }
    throw new BadRequestError(`the form has no file in the field "${FIELD}"`);
  }
}

/** @throws {BadRequestError} for a file that is not the archive */
function contentOf({ field, name, content }: FilePart, maxBytes: number): AsyncIterable<Uint8Array> {
  if (field !== FIELD) throw new BadRequestError(`the archive has to be in the field "${FIELD}"`);
  if (!name.toLowerCase().endsWith('.skill'))
    throw new BadRequestError(`${FIELD}: the name of the archive must end in .skill`);
  return limited(content, maxBytes);
}

async function* limited(content: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new TooLargeError(`${FIELD}: the archive is larger than ${maxBytes} bytes`);
    yield chunk;
  }
}
