/**
 * The closed list of fields of a log line. Anything else is left out and its name told in `dropped`, so message
 * text, tool arguments and file contents cannot slip into the logs.
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
  // For whom, and along which request.
  'requestId',
  'traceId',
  'userId',
  'clientAddress',
  'method',
  'route',
  'status',
  // Which piece of work.
  'threadId',
  'runId',
  'checkpointId',
  'turn',
  'attempt',
  'maxAttempts',
  'epoch',
  'owner',
  'seq',
  'lastSeq',
  'middleware',
  'decision',
  'chain',
  'tool',
  'toolCallId',
  'sandboxId',
  'managerId',
  'taskId',
  'driver',
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
  // Amounts.
  'bytes',
  'count',
  'limit',
  'limitBytes',
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
