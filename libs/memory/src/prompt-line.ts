import { MAX_SUMMARY_CHARS } from '@caribou/contracts';
import { defuseFrameworkTags, escapeMarkup } from '@caribou/core';
import { toMemoryText } from './fact-text.js';

/** Removes line breaks and invisible characters. */
export const toPlainLine = (text: string): string => toMemoryText(text, MAX_SUMMARY_CHARS);

/**
 * Converts a stored text to one line of a prompt. Line breaks and markup are neutralized, so that the text can neither end
 * its line nor open or close a section.
 */
export const toPromptLine = (text: string): string => defuseFrameworkTags(escapeMarkup(toPlainLine(text)));
