import { Page } from '../../components/page.js';
import { shared } from '../../text/shared.js';

export const Component = () => <Page title={shared.threads}>{null}</Page>;
