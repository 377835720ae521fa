const keyOf = (threadId: string): string => `caribou.draft.${threadId}`;

/** The name of the draft of a conversation that does not exist yet, whose id is another one after a reload. */
export const NEW_DRAFT = 'new';

export const readDraft = (threadId: string): string => sessionStorage.getItem(keyOf(threadId)) ?? '';

/** Stores a draft until it is sent or the tab is closed. One that is too large for the browser's store stays in the page only. */
export function writeDraft(threadId: string, text: string): void {
  try {
    if (text === '') sessionStorage.removeItem(keyOf(threadId));
    else sessionStorage.setItem(keyOf(threadId), text);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}
