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
const asText = (value: unknown): string | undefined =>
  typeof value === 'string' ? Buffer.from(value).subarray(0, MAX_TEXT_BYTES).toString('utf8') : undefined;
const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Audits each request that this manager answers, also one that joins a running execution or gets a stored result. */
export class AuditInterceptor implements NestInterceptor {
  constructor(private readonly options: AuditInterceptorOptions) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const rpc = context.switchToRpc();
    const subject = rpc.getContext<NatsContext>().getSubject();
    const name = subject.slice(subject.lastIndexOf('.') + 1);
    // Neither reads nor changes a sandbox on behalf of an agent.
    if (name === 'probe' || name === 'publish') return next.handle();
    // A blocked command is audited as `exec`, because its verdict says that it was blocked.
    const operation = name === 'blocked' ? 'exec' : name;
    const request = fieldsOf(rpc.getData<unknown>());
    const beganMs = this.options.clock.monotonicMs();
    const record = (verdict: string, reply: Fields): void =>
      this.options.trail.record(this.toLine({ operation, verdict, request, reply, beganMs }));
    return next.handle().pipe(
      tap({
        next: (reply) => record(asText(fieldsOf(reply)['outcome']) ?? 'ok', fieldsOf(reply)),
        error: (error: unknown) => record(`error:${error instanceof AppError ? error.code : 'internal'}`, {}),
      }),
    );
  }

  private toLine(ended: {
    readonly operation: string;
    readonly verdict: string;
    readonly request: Fields;
    readonly reply: Fields;
    readonly beganMs: number;
  }): AuditLine {
    const { clock, managerId, driverOf } = this.options;
    const { operation, verdict, request, reply, beganMs } = ended;
    const driver = driverOf(asText(request['sandbox_id']) ?? asText(reply['sandbox_id']) ?? '');
    return {
      id: newId(),
      at: new Date(clock.now()).toISOString(),
      operation,
      verdict,
      manager_id: managerId,
      ...subjectOf(request),
      ...judgementOf(request),
      ...effectOf(request, reply),
      ...deciderOf(request),
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
  const [runId, callId] = asText(request['key'])?.split(':') ?? [];
  const paths = [...(listOf(request['paths']) ?? []), asText(request['path']), asText(request['pattern'])];
  const what = asText(request['command']) ?? asText(paths.filter((part) => part !== undefined).join(' '));
  return {
    user_id: asText(request['user_id']) ?? '',
    thread_id: asText(request['thread_id']) ?? '',
    ...omitUndefined({ run_id: runId, tool_call_id: callId }),
    ...(what === undefined || what === '' ? {} : { what }),
  };
}

/** The administrator who requested it, where it is not done for a run. */
function deciderOf(request: Fields): Pick<AuditLine, 'decided_by' | 'decided_from'> {
  const [by, from] = [asText(request['decided_by']), asText(request['decided_from'])];
  return omitUndefined({ decided_by: by, decided_from: from });
}

/** The verdict of the command rules, which the caller has checked before. */
function judgementOf(request: Fields): Pick<AuditLine, 'command_verdict' | 'rules'> {
  const audit = CommandAudit.safeParse(request['audit']);
  return audit.success ? { command_verdict: audit.data.verdict, rules: audit.data.rules } : {};
}

/** Size and exit code of the result. */
function effectOf(request: Fields, reply: Fields): Pick<AuditLine, 'bytes' | 'exit_code'> {
  const bytes = bytesOf(reply) ?? countInsertedBytes(request, reply);
  const exitCode = asNumber(reply['exit_code']);
  return { ...omitUndefined({ bytes, exit_code: exitCode }) };
}

/** Total bytes of the text that an edit has inserted. */
function countInsertedBytes(request: Fields, reply: Fields): number | undefined {
  const replaced = asNumber(reply['replaced']);
  const put = request['new_text'];
  return replaced === undefined || typeof put !== 'string' ? undefined : replaced * Buffer.byteLength(put);
}

/** Bytes that the operation wrote, read or found, or that the command printed, including truncated output. */
function bytesOf(reply: Fields): number | undefined {
  const matches = Array.isArray(reply['matches'])
    ? reply['matches'].map((match) => asText(fieldsOf(match)['text']))
    : [];
  const texts = [reply['stdout'], reply['stderr'], reply['text'], ...(listOf(reply['paths']) ?? []), ...matches];
  const output = texts.filter((part) => typeof part === 'string');
  if (output.length === 0) return asNumber(reply['bytes']);
  return output.reduce((sum, part) => sum + Buffer.byteLength(part), asNumber(reply['truncated_bytes']) ?? 0);
}
