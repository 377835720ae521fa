import { Tabs } from '@base-ui/react/tabs';
import { X } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { Button } from '../../../components/button.js';
import { Loading } from '../../../components/notice.js';
import { panels } from '../../../text/panels.js';
import { useConversation } from '../conversation-context.js';
import styles from './panels.module.css';

const PlanTab = lazy(async () => ({ default: (await import('./plan/plan-tab.js')).PlanTab }));
const FilesTab = lazy(async () => ({ default: (await import('./files/files-tab.js')).FilesTab }));
const HistoryTab = lazy(async () => ({ default: (await import('./history/history-tab.js')).HistoryTab }));
const TasksTab = lazy(async () => ({ default: (await import('./subagents/tasks-tab.js')).TasksTab }));
const UsageTab = lazy(async () => ({ default: (await import('./usage/usage-tab.js')).UsageTab }));

const tabs = [
  { name: 'plan', Content: PlanTab, needsThread: false },
  { name: 'files', Content: FilesTab, needsThread: false },
  { name: 'history', Content: HistoryTab, needsThread: true },
  { name: 'tasks', Content: TasksTab, needsThread: true },
  { name: 'usage', Content: UsageTab, needsThread: true },
] as const;

type TabName = (typeof tabs)[number]['name'];

const isTab = (name: unknown): name is TabName => tabs.some((tab) => tab.name === name);

/** The right side of a conversation: plan and goal, files, history, subagents and usage. Only the open tab is loaded. */
export function SidePanel({ onClose }: { readonly onClose: () => void }) {
  const { threadId, exists } = useConversation();
  const [open, setOpen] = useState<TabName>('plan');
  return (
    <Tabs.Root value={open} onValueChange={(name: unknown) => isTab(name) && setOpen(name)} className={styles['panel']}>
      <div className={styles['bar']}>
        <Tabs.List className={styles['tabs']} aria-label={panels.panel} activateOnFocus>
          {tabs.map(({ name }) => (
            <Tabs.Tab key={name} value={name} className={styles['tab']}>
              {panels.tabs[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Button look="quiet" isIcon aria-label={panels.closePanel} title={panels.closePanel} onClick={onClose}>
          <X size={18} aria-hidden />
        </Button>
      </div>
      {tabs.map(({ name, Content, needsThread }) => (
        <Tabs.Panel key={name} value={name} className={styles['content']}>
          <Suspense fallback={<Loading />}>
            {needsThread && !exists ? <p>{panels.noConversation}</p> : <Content key={threadId} />}
          </Suspense>
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  );
}
