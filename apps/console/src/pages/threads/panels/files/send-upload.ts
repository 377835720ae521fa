import type { UploadReply } from '@caribou/contracts';
import { addressOf, ApiError, credentials } from '../../../../api/request.js';
import { files as texts } from '../../../../text/panels-files.js';
import type { SendFile } from './upload-queue.js';

/** Time without progress after which a transfer counts as lost; documents are converted before the answer, for seconds. */
const STALL_MS = 60_000;

/** Sends a file to a thread, by XMLHttpRequest, as `fetch` does not say how much was sent. */
export const sendUpload =
  (threadId: string): SendFile<File> =>
  (file, { onProgress, signal }) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      const fail = (error: Error): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        reject(error);
      };
      const onAbort = (): void => {
        request.abort();
        fail(signal.reason instanceof Error ? signal.reason : new Error(texts.states.cancelled));
      };
      const onStall = (): void => {
        request.abort();
        fail(new ApiError(0, texts.stalled));
      };
      let timer = setTimeout(onStall, STALL_MS);
      const onSent = ({ loaded, total }: ProgressEvent): void => {
        clearTimeout(timer);
        timer = setTimeout(onStall, STALL_MS);
        onProgress(total === 0 ? 0 : Math.round((file.size * loaded) / total));
      };
      request.upload.addEventListener('progress', onSent);
      request.addEventListener('error', () => fail(new ApiError(0, texts.stalled)));
      request.addEventListener('load', () => {
        const error = failureOf(request);
        if (error !== undefined) return fail(error);
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      signal.addEventListener('abort', onAbort);
      request.open('POST', addressOf(`api/threads/${encodeURIComponent(threadId)}/uploads`));
      for (const [name, value] of Object.entries(credentials())) request.setRequestHeader(name, value);
      const form = new FormData();
      form.append('files', file, file.name);
      request.send(form);
    });

function failureOf(request: XMLHttpRequest): Error | undefined {
  const { status } = request;
  const body = parse(request.responseText);
  if (status >= 200 && status < 300) {
    const { skipped_files: skipped = [], message } = body as Partial<UploadReply>;
    return skipped.length === 0 ? undefined : new ApiError(422, message ?? texts.skipped);
  }
  const { detail } = body as { readonly detail?: unknown };
  const retryAfter = request.getResponseHeader('retry-after');
  return new ApiError(
    status,
    typeof detail === 'string' ? detail : texts.skipped,
    retryAfter === null ? undefined : Number(retryAfter),
  );
}

function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
