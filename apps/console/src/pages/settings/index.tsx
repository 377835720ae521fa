import { lazy, Suspense } from 'react';
import { Navigate, NavLink, Route, Routes } from 'react-router';
import { Loading } from '../../components/notice.js';
import { NotFound } from '../../shell/page-failures.js';
import { settings } from '../../text/settings.js';
import { sections } from './sections.js';
import styles from './settings.module.css';

const Account = lazy(async () => ({ default: (await import('./account/index.js')).AccountPage }));
const Agent = lazy(async () => ({ default: (await import('./agents/edit.js')).AgentPage }));
const Agents = lazy(async () => ({ default: (await import('./agents/index.js')).AgentsPage }));
const Approvals = lazy(async () => ({ default: (await import('./approvals/index.js')).ApprovalsPage }));
const Chain = lazy(async () => ({ default: (await import('./agents/chain.js')).ChainPage }));
const Items = lazy(async () => ({ default: (await import('./items/index.js')).ItemsPage }));
const McpServers = lazy(async () => ({ default: (await import('./mcp/index.js')).McpPage }));
const Memory = lazy(async () => ({ default: (await import('./memory/index.js')).MemoryPage }));
const NewAgent = lazy(async () => ({ default: (await import('./agents/create.js')).NewAgentPage }));
const Profile = lazy(async () => ({ default: (await import('./profile/index.js')).ProfilePage }));
const Schedules = lazy(async () => ({ default: (await import('./schedules/index.js')).SchedulesPage }));
const Skills = lazy(async () => ({ default: (await import('./skills/index.js')).SkillsPage }));
const Usage = lazy(async () => ({ default: (await import('./usage/index.js')).UsagePage }));

/** What a person sets for their own use of the system, with a page for each subject. */
export const Component = () => (
  <div className={styles['settings']}>
    <nav className={styles['nav']} aria-label={settings.navigation}>
      {sections.map(({ path, label }) => (
        <NavLink key={path} to={`/settings/${path}`} className={styles['link'] ?? ''}>
          {label}
        </NavLink>
      ))}
    </nav>
    <div>
      <Suspense fallback={<Loading />}>
        <Routes>
          <Route index element={<Navigate to={`/settings/${sections[0]?.path ?? 'profile'}`} replace />} />
          <Route path="profile" element={<Profile />} />
          <Route path="memory" element={<Memory />} />
          <Route path="skills" element={<Skills />} />
          <Route path="agents" element={<Agents />} />
          <Route path="agents/new" element={<NewAgent />} />
          <Route path="agents/:name" element={<Agent />} />
          <Route path="agents/:name/chain" element={<Chain />} />
          <Route path="schedules" element={<Schedules />} />
          <Route path="approvals" element={<Approvals />} />
          <Route path="usage" element={<Usage />} />
          <Route path="items" element={<Items />} />
          <Route path="mcp" element={<McpServers />} />
          <Route path="account" element={<Account />} />
          <Route path="*" element={<NotFound />} />
        </Routes>
      </Suspense>
    </div>
  </div>
);
