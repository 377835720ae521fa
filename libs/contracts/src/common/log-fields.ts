/**
 * The closed list of fields of a log line, so that message text, tool arguments and file contents cannot slip into the
 * logs. Loggers take `ExactLogFields`, so that the compiler refuses any other field; one that comes from code without
 * types is left out at run time, and its name is shown in the field `dropped`.
 *
 * `event` is noun.verb (`run.end`), `outcome` is ok, error, cancelled or limit; a field with a unit has it in its name.
 */
export const logFields = [
  // What happened.
  'event',
  'outcome',
  'durationMs',
  'reason',
  'error',
  'errorCode',
  'retryable',
  // The user and the request.
  'requestId',
  'traceId',
  'userId',
  'clientAddress',
  'method',
  'route',
  'status',
  // The work.
  'threadId',
  'runId',
  'checkpointId',
  'turn',
  'attempt',
  'maxAttempts',
  'fallback',
  'epoch',
  'owner',
  'seq',
  'lastSeq',
  'middleware',
  'decision',
  'chain',
  'hooksMs',
  'tool',
  'toolCallId',
  'sandboxId',
  'managerId',
  'taskId',
  'driver',
  'agent',
  'path',
  'callKey',
  // Verdict on a command, the beginning of the command, and audit lines that could not be stored.
  'verdict',
  'rules',
  'command',
  'auditLines',
  // Fields that a middleware or tool of the operator passes to its `log`.
  'custom',
  // Model and bus.
  'model',
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'providerStatus',
  'finishReason',
  'subject',
  'stream',
  'consumer',
  'dependency',
  'server',
  'variable',
  'stderr',
  'problems',
  // Amounts.
  'bytes',
  'count',
  'limit',
  'limitBytes',
  'usedBytes',
  'failures',
  'servers',
  'changed',
  'delayMs',
  'timeoutMs',
  'afterMs',
  // The process.
  'host',
  'port',
  'pid',
  'signal',
  'version',
  'exitCode',
] as const;

/** Fields of one log line. An `error` is described without secrets, its stack only where it is unexpected. */
export type LogFields = { readonly [Field in (typeof logFields)[number]]?: unknown };

/** Log fields without any other key, also when an object is spread or passed by a variable. */
export type ExactLogFields<F extends LogFields> = F & { readonly [K in Exclude<keyof F, keyof LogFields>]: never };
