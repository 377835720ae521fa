import { settings } from '../../text/settings.js';

export interface SettingsSection {
  readonly path: string;
  readonly label: string;
}

/** The pages of the settings, in the order of the navigation. */
export const sections: readonly SettingsSection[] = [
  { path: 'profile', label: settings.profile },
  { path: 'memory', label: settings.memory },
  { path: 'skills', label: settings.skills },
  { path: 'agents', label: settings.agents },
  { path: 'schedules', label: settings.schedules },
  { path: 'approvals', label: settings.approvals },
  { path: 'usage', label: settings.usage },
  { path: 'items', label: settings.items },
  { path: 'mcp', label: settings.mcp },
  { path: 'account', label: settings.account },
];
