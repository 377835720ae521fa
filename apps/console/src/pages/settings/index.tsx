import { Suspense } from 'react';
import { Navigate, NavLink, Route, Routes } from 'react-router';
import { Loading } from '../../components/notice.js';
import { lazyPage } from '../../shell/lazy-page.js';
import { NotFound } from '../../shell/page-failures.js';
import { settings } from '../../text/settings.js';
import { sections } from './sections.js';
import styles from './settings.module.css';

const Account = lazyPage(async () => ({ Component: (await import('./account/index.js')).AccountPage }));
const Agent = lazyPage(async () => ({ Component: (await import('./agents/edit.js')).AgentPage }));
const Agents = lazyPage(async () => ({ Component: (await import('./agents/index.js')).AgentsPage }));
const Approvals = lazyPage(async () => ({ Component: (await import('./approvals/index.js')).ApprovalsPage }));
const Chain = lazyPage(async () => ({ Component: (await import('./agents/chain.js')).ChainPage }));
const Items = lazyPage(async () => ({ Component: (await import('./items/index.js')).ItemsPage }));
const McpServers = lazyPage(async () => ({ Component: (await import('./mcp/index.js')).McpPage }));
const Memory = lazyPage(async () => ({ Component: (await import('./memory/index.js')).MemoryPage }));
const NewAgent = lazyPage(async () => ({ Component: (await import('./agents/create.js')).NewAgentPage }));
const Profile = lazyPage(async () => ({ Component: (await import('./profile/index.js')).ProfilePage }));
const Schedules = lazyPage(async () => ({ Component: (await import('./schedules/index.js')).SchedulesPage }));
const Skills = lazyPage(async () => ({ Component: (await import('./skills/index.js')).SkillsPage }));
const Usage = lazyPage(async () => ({ Component: (await import('./usage/index.js')).UsagePage }));

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
