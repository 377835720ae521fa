import { FORM, partText } from './file-client.js';
import { MARKER, type OwnedIds } from './owned-data.js';
import { taskOf } from './task-bodies.js';

/** A request of another user for what the owner has, and the status of its answer. */
export interface SweepCase {
  /** 404 for what the other user must not find; another status for an answer about the other user's own things. */
  readonly status: number;
  /** Values of the path's parameters that `paramsOf` has not. */
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Asked by a third user, who gets something with the same id, as ids of these things are each user's own. */
  readonly makesOwn?: true;
  /** Whether the answer is a stream without an end, of which only the status is read. */
  readonly isStream?: true;
}

const hidden = (more: Omit<SweepCase, 'status'> = {}): SweepCase => ({ status: 404, ...more });
const own = (more: Omit<SweepCase, 'status'> = {}, status = 200): SweepCase => ({ status, ...more });

/** The owner's ids by the names of the parameters in paths. */
export const paramsOf = (ids: OwnedIds): Readonly<Record<string, string>> => ({
  ...ids,
  filename: 'secret.txt',
  '*': 'mnt/user-data/outputs/report.md',
  agent_name: 'owners-agent',
  name: 'owners-skill',
  namespace: 'x',
  model_name: 'm1',
});

/**
 * What another user gets on every route for users that names, or could show, what the owner has. The test fails for a route
 * that is missing here.
 */
export const sweepCases = (ids: OwnedIds): Readonly<Record<string, SweepCase>> => ({
  ...threadCases(ids),
  ...runCases(ids),
  ...scheduleCases(ids),
  ...fileCases(ids),
  ...accountCases(),
  ...memoryCases(),
});

const threadCases = (ids: OwnedIds): Readonly<Record<string, SweepCase>> => ({
  createThread: own({ body: { thread_id: ids.thread_id }, makesOwn: true }),
  searchThreads: own({ body: { ids: [ids.thread_id] } }),
  countThreads: own({ body: {} }),
  getThread: hidden(),
  patchThread: hidden({ body: { metadata: { a: 1 } } }),
  deleteThread: hidden(),
  copyThread: hidden({ body: {} }),
  pruneThreads: own({ body: { thread_ids: [ids.thread_id] } }),
  joinThreadStream: hidden(),
  getThreadTokenUsage: hidden(),
  getThreadState: hidden(),
  getThreadStateAt: hidden(),
  postThreadStateAt: hidden({ body: { checkpoint: { checkpoint_id: ids.checkpoint_id } } }),
  updateThreadState: hidden({ body: { values: { title: 'x' } } }),
  patchThreadState: hidden({ body: { metadata: { a: 1 } } }),
  getThreadHistory: hidden({ body: {} }),
  branchThread: hidden({ body: { message_id: 'question-1' } }),
  getMessagesPage: hidden(),
  listMessages: hidden(),
  compactThread: hidden({ body: {} }),
  getThreadGoal: hidden(),
  setThreadGoal: own({ body: { objective: 'x' }, makesOwn: true }),
  clearThreadGoal: hidden(),
  sendCommand: own({ body: { id: 1, method: 'state.get', params: {} }, makesOwn: true }),
  streamThreadEvents: own({ body: { channels: ['values'] }, makesOwn: true, isStream: true }),
  joinThreadEvents: own({ makesOwn: true, isStream: true }),
  listApprovals: own(),
  listThreadApprovals: hidden({ params: { thread_id: ids.waiting_thread_id }, query: 'user_id=owner' }),
  decideApproval: hidden({
    params: { thread_id: ids.waiting_thread_id },
    query: 'user_id=owner',
    body: { type: 'approve' },
  }),
  suggestQuestions: hidden({ body: { messages: [{ role: 'user', content: 'x' }] } }),
  polishInput: hidden({ body: { text: 'x', thread_id: ids.thread_id } }),
  listMcpTasks: hidden(),
});

const runCases = (ids: OwnedIds): Readonly<Record<string, SweepCase>> => {
  const start = { assistant_id: 'lead_agent', input: null };
  const ofAssistant = { assistant_id: ids.assistant_id, input: { messages: [] } };
  return {
    getMessagesOfRun: hidden(),
    getRunTrace: hidden({ query: 'user_id=owner' }),
    getRunRequest: hidden({ params: { call: '1' }, query: 'user_id=owner' }),
    getTaskTrace: hidden({ query: 'user_id=owner' }),
    getTaskRequest: hidden({ params: { call: '1' }, query: 'user_id=owner' }),
    getMessagesOfRunById: hidden(),
    prepareRegenerate: hidden({ body: { message_id: 'question-1' } }),
    prepareEditRegenerate: hidden({ body: { human_message_id: 'question-1', replacement_text: 'x' } }),
    createRun: hidden({ body: start }),
    streamRun: hidden({ body: start }),
    waitRun: hidden({ body: start }),
    listRuns: hidden(),
    getRun: hidden(),
    deleteRun: hidden(),
    joinRun: hidden(),
    joinRunStream: hidden(),
    cancelRun: hidden(),
    cancelRuns: hidden({ body: { thread_id: ids.thread_id, run_ids: [ids.run_id] } }),
    pauseRun: hidden({ query: 'user_id=owner' }),
    resumeRun: hidden({ query: 'user_id=owner' }),
    listRunEvents: hidden(),
    createStatelessRun: hidden({ body: ofAssistant }),
    streamStatelessRun: hidden({ body: ofAssistant }),
    waitStatelessRun: hidden({ body: ofAssistant }),
    createStatelessRuns: hidden({ body: [ofAssistant] }),
    joinStatelessRunStream: hidden(),
    putFeedback: hidden({ body: { rating: 1 } }),
    createFeedback: hidden({ body: { rating: 1 } }),
    listFeedback: hidden(),
    getFeedbackStats: hidden(),
    deleteFeedbackOfRun: hidden(),
    deleteFeedback: hidden(),
    listFeedbackOfRun: hidden(),
    listTasks: hidden(),
    getTask: hidden(),
  };
};

const scheduleCases = (ids: OwnedIds): Readonly<Record<string, SweepCase>> => {
  const cron = { assistant_id: 'lead_agent', schedule: '0 0 1 1 *', input: null };
  const task = { task_id: ids.scheduled_task_id };
  return {
    createCron: hidden({ body: { ...cron, assistant_id: ids.assistant_id } }),
    createThreadCron: hidden({ body: cron }),
    searchCrons: own({ body: { thread_id: ids.thread_id } }),
    countCrons: own({ body: { thread_id: ids.thread_id } }),
    updateCron: hidden({ body: { enabled: false } }),
    deleteCron: hidden(),
    listWebhookEvents: own(),
    listScheduledTasks: own(),
    listScheduledTasksOfThread: hidden(),
    listScheduledTaskEventsOfThread: hidden(),
    createScheduledTask: hidden({ body: taskOf({ context_mode: 'reuse_thread', thread_id: ids.thread_id }) }),
    getScheduledTask: hidden({ params: task }),
    updateScheduledTask: hidden({ params: task, body: { title: 'x' } }),
    deleteScheduledTask: hidden({ params: task }),
    pauseScheduledTask: hidden({ params: task }),
    resumeScheduledTask: hidden({ params: task }),
    triggerScheduledTask: hidden({ params: task }),
    listScheduledTaskRuns: hidden({ params: task }),
  };
};

const fileCases = (ids: OwnedIds): Readonly<Record<string, SweepCase>> => ({
  uploadFiles: own({
    headers: FORM,
    body: `${partText({ name: 'secret.txt', content: 'other' })}--caribou-boundary--\r\n`,
    makesOwn: true,
  }),
  listUploads: own(),
  uploadLimits: own(),
  deleteUpload: hidden(),
  getArtifact: hidden(),
  editArtifact: hidden({ body: { content: 'x', expected_sha256: '0'.repeat(64) } }),
  listFiles: hidden(),
  getFileContent: hidden(),
  diffFiles: hidden({ query: `from=${ids.checkpoint_id}` }),
  restoreFiles: hidden({ body: { checkpoint_id: ids.checkpoint_id } }),
  getWorkspaceChanges: hidden(),
  listSkills: own(),
  // Not an archive of a skill.
  uploadSkill: own(
    {
      headers: FORM,
      body: `${partText({ name: 'owners.skill', content: 'x', field: 'file' })}--caribou-boundary--\r\n`,
      makesOwn: true,
    },
    400,
  ),
  getSkill: hidden(),
  setSkill: hidden({ body: { enabled: false } }),
  deleteSkill: hidden(),
  installSkill: hidden({ body: { thread_id: ids.thread_id, path: '/mnt/user-data/uploads/owners.skill' } }),
});

const accountCases = (): Readonly<Record<string, SweepCase>> => ({
  createAssistant: own({ body: { graph_id: 'lead_agent', name: 'x' } }),
  searchAssistants: own({ body: { name: MARKER } }),
  countAssistants: own({ body: {} }),
  getAssistant: hidden(),
  updateAssistant: hidden({ body: { name: 'x' } }),
  deleteAssistant: hidden(),
  listAssistantVersions: hidden({ body: {} }),
  setLatestAssistantVersion: hidden({ body: { version: 1 } }),
  getAssistantGraph: hidden(),
  getAssistantSchemas: hidden(),
  listAssistantSubgraphs: hidden(),
  getAssistantSubgraphs: hidden(),
  listAgents: own(),
  checkAgentName: own({ query: 'name=owners-agent' }),
  getAgent: hidden(),
  createAgent: own({ body: { name: 'owners-agent', soul: 'x' }, makesOwn: true }, 201),
  updateAgent: hidden({ body: { description: 'x' } }),
  deleteAgent: hidden(),
  getAgentChain: hidden(),
  getUserProfile: own(),
  setUserProfile: own({ body: { content: 'x' } }),
  getMe: own(),
  listSessions: own(),
  endSession: hidden({ params: { session_id: 'x'.repeat(43) } }),
  endOtherSessions: own(),
  // Without sign-in there is no password to change.
  changePassword: own({ body: { current_password: 'x', new_password: 'long enough' } }, 403),
  eraseMe: own({ makesOwn: true }, 204),
  getUsage: own({ query: 'user=owner' }, 403),
  listModels: own(),
  getModel: own(),
  getSuggestionsConfig: own(),
  getFeatures: own(),
  listChannelProviders: own(),
  listChannelConnections: own(),
});

const memoryCases = (): Readonly<Record<string, SweepCase>> => ({
  putItem: own({ body: { namespace: ['notes'], key: 'k', value: { text: 'x' } }, makesOwn: true }, 204),
  getItem: own({ query: 'namespace=notes&key=k' }),
  deleteItem: own({ body: { namespace: ['notes'], key: 'k' } }, 204),
  searchItems: own({ body: { namespace_prefix: ['notes'] } }),
  listNamespaces: own({ body: {} }),
  getMemory: own(),
  clearMemory: own(),
  eraseMemories: own({}, 204),
  getMemoryConfig: own(),
  getMemoryStatus: own(),
  reloadMemory: own(),
  getMemoryHistory: own(),
  listMemoryFacts: own(),
  addMemoryFact: own({ body: { content: 'x' } }),
  editMemoryFact: hidden({ body: { content: 'x' } }),
  deleteMemoryFact: hidden(),
  exportMemory: own(),
  importMemory: own({ body: { facts: [] } }),
});
