import { silentLog } from '../../src/lib/log.ts';
import { fileRecords } from '../../src/state/memory/delivery-records.ts';
import { recordStream, redisRecords, redisReplayLog } from '../../src/state/redis/delivery-records.ts';
import { DeliveryLog } from '../../src/webhooks/records/delivery-log.ts';
import { deliveryRecordsContract } from '../contracts/delivery-records.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { linkTo, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

deliveryRecordsContract('records in files', async (t) => {
  const folder = temporaryFolder(t);
  const options = { folder, maximumFileSizeBytes: 1000, clock: new ManualClock(), log: silentLog };
  return {
    records: fileRecords(folder),
    async add(kind, added) {
      const log = kind === 'deliveries' ? DeliveryLog.open(options) : DeliveryLog.create(options);
      for (const record of added) log.append(record);
      await log.close();
    },
  };
});

deliveryRecordsContract('records in Redis', async (t) => {
  if (!hasProgram(t, 'redis-server')) return undefined;
  const link = await linkTo(t, (await startRedis(t)).url);
  return {
    records: redisRecords(link),
    async add(kind, added) {
      if (kind === 'replays') {
        const log = redisReplayLog(link, 0);
        for (const record of added) log.append(record);
        return log.close();
      }
      for (const record of added)
        await link.call(['XADD', recordStream(link, kind), `${Date.parse(record.time)}-*`, 'record', JSON.stringify(record)]);
    },
  };
});
