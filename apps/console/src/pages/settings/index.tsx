import { lazy, Suspense } from 'react';
import { Navigate, NavLink, Route, Routes } from 'react-router';
import { Loading } from '../../components/notice.js';
import { NotFound } from '../../shell/page-failures.js';
import { settings } from '../../text/settings.js';
import { sections } from './sections.js';
import styles from './settings.module.css';

const Account = lazy(() => import('./account/index.js'));
const Agent = lazy(() => import('./agents/edit.js'));
const Agents = lazy(() => import('./agents/index.js'));
const Approvals = lazy(() => import('./approvals/index.js'));
const Chain = lazy(() => import('./agents/chain.js'));
const Items = lazy(() => import('./items/index.js'));
const McpServers = lazy(() => import('./mcp/index.js'));
const Memory = lazy(() => import('./memory/index.js'));
const NewAgent = lazy(() => import('./agents/create.js'));
const Profile = lazy(() => import('./profile/index.js'));
const Schedules = lazy(() => import('./schedules/index.js'));
const Skills = lazy(() => import('./skills/index.js'));
const Usage = lazy(() => import('./usage/index.js'));

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
);
