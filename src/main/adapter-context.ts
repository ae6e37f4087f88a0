/** What each adapter is handed when it is built. */
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { AdapterContext, AdapterStatus, Route } from '../contract/adapter.ts';
import type { Log } from '../contract/log.ts';
import { lockToken } from '../store/lock.ts';
import type { Core } from './core.ts';

export interface ContextDeps {
  core: Core;
  home: string;
  log: Log;
  report(platform: string, status: AdapterStatus): void;
  mount(route: Route): () => void;
}

export function createAdapterContext(platform: string, { core, home, log, report, mount }: ContextDeps): AdapterContext {
  return {
    log: log.child({ platform }),
    home,
    state: core.store.state(platform),
    commands: core.commands,
    report: (status) => report(platform, status),
    claimToken: (token) => lockToken(token, { folder: join(tmpdir(), `hermes-gateway-${userInfo().uid}`), home }),
    chatMoved: (from, to) => core.chatMoved(platform, from, to),
    mount,
    isAllowed: core.access.isAllowed,
  };
}
