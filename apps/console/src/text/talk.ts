/** Texts of the conversations. */
export const talk = {
  plan: 'Plan',
  noPlan: 'The agent has not made a plan.',
  todoStatus: { pending: 'to do', in_progress: 'in progress', completed: 'done' },
  asked: 'Waiting for an answer',
  answer: 'Answer',
  newConversation: 'New conversation',
};
