/** Texts of the page of skills. */
export const skillTexts = {
  title: 'Skills',
  about:
    'Ways of doing a kind of task, which agents read when a task fits. A switch holds for you, from the next run on.',
  list: 'All skills',
  empty: 'There are no skills.',
  name: 'Name',
  from: 'From',
  origins: { product: 'the product', operator: 'the operator', own: 'you' },
  enabled: 'Use',
  switchOf: (name: string) => `Use ${name}`,
  license: 'License',
  noLicense: 'not stated',
  install: 'Install a skill',
  installAbout: 'A .skill file is a ZIP archive with a SKILL.md. It is checked before anything of it is installed.',
  choose: 'Choose a .skill file…',
  installing: (name: string) => `Installing ${name}…`,
  installed: (name: string) => `“${name}” is installed and on.`,
  faults: { name: 'The name of the file must end in .skill.', empty: 'The file is empty.' },
  deleteTitle: (name: string) => `Delete the skill ${name}?`,
  deleteAbout: 'Its files are deleted. Agents that are limited to it no longer have it. This cannot be undone.',
};
