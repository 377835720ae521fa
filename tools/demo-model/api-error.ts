/** A refusal in OpenAI's shape: an HTTP status and the four fields of its `error` object. */
export class ModelApiError extends Error {
  override readonly name = 'ModelApiError';

  constructor(
    readonly status: number,
    message: string,
    readonly detail: { param?: string | null; code?: string | null } = {},
  ) {
    super(message);
  }

  /** The JSON body an OpenAI-compatible server sends with this status. */
  body(): { error: { message: string; type: string; param: string | null; code: string | null } } {
    return {
      error: {
        message: this.message,
        type: errorType(this.status),
        param: this.detail.param ?? null,
        code: this.detail.code ?? null,
      },
    };
  }
}

function errorType(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
