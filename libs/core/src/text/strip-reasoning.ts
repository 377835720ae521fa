/** Removes `<think>` blocks that a provider leaves in the text; an unclosed one extends to the end. */
export const stripReasoning = (text: string): string => text.replace(/<think>[\s\S]*?(<\/think>|$)/gi, '');
