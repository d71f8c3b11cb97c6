import { systemClock } from '../../src/lib/clock.ts';
import { memoryState } from '../../src/server/state.ts';
import { bansContract } from '../contracts/bans.ts';
import { sessionsContract } from '../contracts/sessions.ts';
import { acceptedContract, urlHealthContract } from '../contracts/shared-state.ts';

const policy = () => ({ ban_after_failures: 0, ban_seconds: 1, ban_window_seconds: 1 });
const state = memoryState(systemClock, policy);

sessionsContract('sessions in memory', async (_, { lifetimes, onTimeout }) => state.sessions('web', lifetimes, onTimeout));
bansContract('bans in memory', async (_, ofTest) => memoryState(systemClock, ofTest).bans);
urlHealthContract('suspensions in memory', async () => state.urlHealth('method'));
acceptedContract('accepted credentials in memory', async (_, lifetimeMs) => state.accepted('method', lifetimeMs));
