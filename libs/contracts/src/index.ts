export {
  CheckpointId,
  DEFAULT_USER_ID,
  newId,
  newToolCallId,
  RunId,
  ThreadId,
  UserId,
} from './ids.js';
export {
  AppError,
  type AppErrorOptions,
  BugError,
  ConflictError,
  DeadlineError,
  ErrorCode,
  FencedError,
  ForbiddenError,
  fromWireError,
  InvalidRequestError,
  ModelError,
  NotFoundError,
  RateLimitedError,
  TooLargeError,
  toWireError,
  UnauthenticatedError,
  UnavailableError,
  UnsupportedMediaTypeError,
  WireError,
} from './errors.js';
export {
  AiMessage,
  Content,
  ContentBlock,
  HumanMessage,
  InvalidToolCall,
  Message,
  REMOVE_ALL,
  RemoveMessage,
  SystemMessage,
  textOf,
  ToolCall,
  type ToolCallChunk,
  ToolMessage,
  UsageMetadata,
} from './messages.js';
export {
  CHANNEL_NAMES,
  type ChannelName,
  ChannelValues,
  CheckpointMetadata,
  CheckpointSource,
  type CheckpointView,
  CLIENT_CHANNELS,
  NextNode,
  SandboxBinding,
  type StateUpdate,
  StateUpdateSchema,
  ThreadData,
  ThreadRecord,
  ThreadState,
  ThreadStatus,
  Todo,
} from './thread-state.js';
export {
  CancelAction,
  isTerminal,
  LEAD_AGENT,
  MultitaskStrategy,
  RunContextValues,
  RunKwargs,
  RunRecord,
  RunStatus,
  StreamMode,
} from './runs.js';
export { EventBatch, type NumberedEvent, RunEvent, type RunEventOf } from './events.js';
export {
  CANCEL_ALL,
  cancelSubject,
  deadLetterSubject,
  memorySubject,
  runEventsSubject,
  streams,
  turnSubject,
} from './subjects.js';
export { rpc, type RpcContract } from './rpc/contract.js';
export {
  managerSubject,
  MAX_REPLY_TEXT_BYTES,
  MAX_WRITE_BYTES,
  SandboxAcquire,
  SandboxCancel,
  SandboxExec,
  SandboxRead,
  SandboxRelease,
  SandboxWrite,
} from './rpc/sandbox.js';
export { assistantRoutes } from './http/assistants.js';
export {
  type AssistantReply,
  type CheckpointReply,
  FailureReply,
  type RunReply,
  type StateReply,
  type StateUpdateReply,
  type TaskReply,
  type ThreadReply,
} from './http/replies.js';
export { httpRoutes } from './http/registry.js';
export { type RouteContract, type RouteInput } from './http/route.js';
export {
  clampRecursionLimit,
  ConfigurableThread,
 
  RunContextInput,
  RunCreate,
} from './http/run-create.js';
export { runRoutes, statelessRoutes } from './http/runs.js';
export { systemRoutes } from './http/system.js';
export { threadRoutes } from './http/threads.js';
