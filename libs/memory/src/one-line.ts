import { MAX_SUMMARY_CHARS } from '@caribou/contracts';
import { defuseFrameworkTags, escapeMarkup } from '@caribou/core';
import { rememberedText } from './fact-text.js';

/** The text without line breaks and what shows nothing. */
export const plainLine = (text: string): string => rememberedText(text, MAX_SUMMARY_CHARS);

/**
 * A remembered text as one line of a prompt. Whatever it holds, it neither ends its line nor opens or closes a section:
 * what follows it is ours, and what stands in its line is its own.
 */
export const oneLine = (text: string): string => defuseFrameworkTags(escapeMarkup(plainLine(text)));
