/** Texts of the frame of the operators' pages. */
export const operate = {
  navigation: 'Operate',
  administratorsOnly: 'These pages are for administrators. Sign in with an administrator’s account or API key.',
};
