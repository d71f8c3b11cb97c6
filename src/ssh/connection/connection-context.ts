import type { Account } from '../../accounts/account.ts';
import { eventAccount } from '../../auth/auth-chain.ts';
import type { EventContext, EventPeer, RequestTrace } from '../../events/event.ts';
import { peerAccount } from '../../events/event-factory.ts';
import type { SshService } from '../ssh-service.ts';

/** What says of a connection where its events come from. */
export interface ConnectionOrigin {
  readonly service: SshService;
  readonly peer: EventPeer;
  /** Names the connection in events and in the log. */
  readonly trace: RequestTrace;
}

/** Where an event of a connection comes from. @param account whose event it is; undefined as long as nobody has logged in */
export function contextOf({ service, peer, trace }: ConnectionOrigin, account?: Account): EventContext {
  const from = { component: service.component, request: trace };
  return account ? { account: eventAccount(account, peer), ...from, group: account.groupUuid } : { account: peerAccount(peer), ...from };
}
