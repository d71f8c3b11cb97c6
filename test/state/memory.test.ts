import { FileEventLog, journalFolder } from '../../src/events/journal/file-event-log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { memoryState } from '../../src/server/state.ts';
import { fileRecords } from '../../src/state/memory/delivery-records.ts';
import { FileDeliveryStore } from '../../src/state/memory/delivery-store.ts';
import { HandlerPositions } from '../../src/state/memory/handler-positions.ts';
import { bansContract } from '../contracts/bans.ts';
import { certificateStoreContract } from '../contracts/certificate-store.ts';
import { type DeliveryGround, deliveryStoreContract } from '../contracts/delivery-store.ts';
import { sessionsContract } from '../contracts/sessions.ts';
import { acceptedContract, urlHealthContract } from '../contracts/shared-state.ts';
import { temporaryFolder } from '../support/temp.ts';

const policy = () => ({ ban_after_failures: 0, ban_seconds: 1, ban_window_seconds: 1 });
const state = memoryState(systemClock, policy, () => true);

sessionsContract('sessions in memory', async (_, { lifetimes, onTimeout }) => state.sessions('web', lifetimes, onTimeout));
bansContract('bans in memory', async (_, ofTest) => memoryState(systemClock, ofTest, () => true).bans);
certificateStoreContract('certificates in memory', async () => state.certificates);
urlHealthContract('suspensions in memory', async () => state.urlHealth('method'));
acceptedContract('accepted credentials in memory', async (_, lifetimeMs) => state.accepted('method', lifetimeMs));
deliveryStoreContract('deliveries in files', async (t) => {
  const folder = temporaryFolder(t);
  const open = async (): Promise<DeliveryGround> => {
    const files = { folder, maximumFileSizeBytes: 1_000_000, retentionDays: 30, clock: systemClock, log: silentLog };
    const positions = await HandlerPositions.open(folder, silentLog);
    const journal = new FileEventLog({ ...files, folder: journalFolder(folder) });
    return { store: new FileDeliveryStore(positions, { ...files, journal }), journal, records: fileRecords(folder) };
  };
  return { open };
});
