/** Whether a person has typed the phrase that confirms something; spaces around it and its case do not matter. */
export const isPhrase = (typed: string, phrase: string): boolean =>
  typed.trim().toLowerCase() === phrase.trim().toLowerCase();
