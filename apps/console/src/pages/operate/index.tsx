import { Suspense } from 'react';
import { Navigate, NavLink, Route, Routes } from 'react-router';
import { useMe } from '../../api/me.js';
import { Failure, Loading, Notice } from '../../components/notice.js';
import { Page } from '../../components/page.js';
import { lazyPage } from '../../shell/lazy-page.js';
import { NotFound } from '../../shell/page-failures.js';
import { operate } from '../../text/operate.js';
import { shared } from '../../text/shared.js';
import styles from './operate.module.css';
import { operateSections } from './sections.js';

const pages = operateSections.map(({ path, load }) => ({ path, Section: lazyPage(load) }));

/** The pages of operators with a navigation of their own. Others are refused by every route; this page says so at once. */
export function Component() {
  const me = useMe();
  if (me.isPending) return <Loading />;
  if (me.isError) return <Failure error={me.error} onRetry={() => void me.refetch()} />;
  if (me.data.system_role !== 'admin')
    return (
      <Page title={shared.operate}>
        <Notice tone="warn">{operate.administratorsOnly}</Notice>
      </Page>
    );
  return (
    <div className={styles['operate']}>
      <Sections />
      <div className={styles['section']}>
        <Suspense fallback={<Loading />}>
          <Routes>
            <Route index element={<First />} />
            {pages.map(({ path, Section }) => (
              <Route key={path} path={`${path}/*`} element={<Section />} />
            ))}
            <Route path="*" element={<NotFound />} />
          </Routes>
        </Suspense>
      </div>
    </div>
  );
}

const Sections = () => (
  <nav className={styles['navigation']} aria-label={operate.navigation}>
    <ul>
      {operateSections.map(({ path, label }) => (
        <li key={path}>
          <NavLink to={`/operate/${path}`} className={styles['link'] ?? ''}>
            {label}
          </NavLink>
        </li>
      ))}
    </ul>
  </nav>
);

function First() {
  const [first] = operateSections;
  return first === undefined ? <Page title={shared.operate}>{null}</Page> : <Navigate to={first.path} replace />;
}
