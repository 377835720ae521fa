/** Without thinking that a provider leaves in the text; an unclosed thought is all thought. */
export const stripReasoning = (text: string): string => text.replace(/<think>[\s\S]*?(<\/think>|$)/gi, '');
