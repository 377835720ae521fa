import { AppError, CommandAudit, newId, omitUndefined } from '@caribou/contracts';
import type { Clock } from '@caribou/core';
import type { AuditLine } from '@caribou/state';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { NatsContext } from '@nestjs/microservices';
import { type Observable, tap } from 'rxjs';
import type { AuditTrail } from '../audit/audit-trail.js';

export interface AuditInterceptorOptions {
  readonly managerId: string;
  readonly trail: Pick<AuditTrail, 'record'>;
  readonly clock: Clock;
  readonly driverOf: (sandboxId: string) => string | undefined;
}

const MAX_TEXT_BYTES = 2048;

type Fields = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
/** The value when it is a string, cut at 2 KiB because requests are audited before they are validated. */
const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? Buffer.from(value).subarray(0, MAX_TEXT_BYTES).toString('utf8') : undefined;
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Audits each request that this manager answers, also one that joins a running execution or gets a stored result. */
export class AuditInterceptor implements NestInterceptor {
  constructor(private readonly options: AuditInterceptorOptions) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const rpc = context.switchToRpc();
    const subject = rpc.getContext<NatsContext>().getSubject();
    const name = subject.slice(subject.lastIndexOf('.') + 1);
    if (name === 'probe') return next.handle();
    // A blocked command is audited as `exec`, because its verdict says that it was blocked.
    const operation = name === 'blocked' ? 'exec' : name;
    const request = fieldsOf(rpc.getData<unknown>());
    const beganMs = this.options.clock.monotonicMs();
    const record = (verdict: string, reply: Fields): void =>
      this.options.trail.record(this.line({ operation, verdict, request, reply, beganMs }));
    return next.handle().pipe(
      tap({
        next: (reply) => record(text(fieldsOf(reply)['outcome']) ?? 'ok', fieldsOf(reply)),
        error: (error: unknown) => record(`error:${error instanceof AppError ? error.code : 'internal'}`, {}),
      }),
    );
  }

  private line(ended: {
    readonly operation: string;
    readonly verdict: string;
    readonly request: Fields;
    readonly reply: Fields;
    readonly beganMs: number;
  }): AuditLine {
    const { clock, managerId, driverOf } = this.options;
    const { operation, verdict, request, reply, beganMs } = ended;
    const driver = driverOf(text(request['sandbox_id']) ?? text(reply['sandbox_id']) ?? '');
    return {
      id: newId(),
      at: new Date(clock.now()).toISOString(),
      operation,
      verdict,
      manager_id: managerId,
      ...subjectOf(request),
      ...judgementOf(request),
      ...effectOf(request, reply),
      duration_ms: Math.round(clock.monotonicMs() - beganMs),
      ...omitUndefined({ driver }),
    };
  }
}

/** The strings in the value when it is an array. */
const listOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((part) => typeof part === 'string') : undefined;

/** The user, thread and tool call that the request was made for, and the command or paths in it. */
function subjectOf(request: Fields): Pick<AuditLine, 'user_id' | 'thread_id' | 'run_id' | 'tool_call_id' | 'what'> {
  const [runId, callId] = text(request['key'])?.split(':') ?? [];
  const paths = [...(listOf(request['paths']) ?? []), text(request['path']), text(request['pattern'])];
  const what = text(request['command']) ?? text(paths.filter((part) => part !== undefined).join(' '));
  return {
    user_id: text(request['user_id']) ?? '',
    thread_id: text(request['thread_id']) ?? '',
    ...omitUndefined({ run_id: runId, tool_call_id: callId }),
    ...(what === undefined || what === '' ? {} : { what }),
  };
}

/** The verdict of the command rules, which the caller has checked before. */
function judgementOf(request: Fields): Pick<AuditLine, 'command_verdict' | 'rules'> {
  const audit = CommandAudit.safeParse(request['audit']);
  return audit.success ? { command_verdict: audit.data.verdict, rules: audit.data.rules } : {};
}

/** Size and exit code of the result. */
function effectOf(request: Fields, reply: Fields): Pick<AuditLine, 'bytes' | 'exit_code'> {
  const bytes = bytesOf(reply) ?? bytesPutIn(request, reply);
  const exitCode = number(reply['exit_code']);
  return { ...omitUndefined({ bytes, exit_code: exitCode }) };
}

/** Total bytes of the text that an edit has inserted. */
function bytesPutIn(request: Fields, reply: Fields): number | undefined {
  const replaced = number(reply['replaced']);
  const put = request['new_text'];
  return replaced === undefined || typeof put !== 'string' ? undefined : replaced * Buffer.byteLength(put);
}

/** Bytes that the operation wrote, read or found, or that the command printed, including truncated output. */
function bytesOf(reply: Fields): number | undefined {
  const matches = Array.isArray(reply['matches']) ? reply['matches'].map((match) => text(fieldsOf(match)['text'])) : [];
  const texts = [reply['stdout'], reply['stderr'], reply['text'], ...(listOf(reply['paths']) ?? []), ...matches];
  const output = texts.filter((part) => typeof part === 'string');
  if (output.length === 0) return number(reply['bytes']);
  return output.reduce((sum, part) => sum + Buffer.byteLength(part), number(reply['truncated_bytes']) ?? 0);
}
