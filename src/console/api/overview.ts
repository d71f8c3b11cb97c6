import { answerJson } from '../answer.ts';
import { answerEvents } from '../answer-events.ts';
import type { ConsoleContext } from '../environment.ts';
import { sampleIntervalS } from '../samples.ts';

/** `GET /api/overview`. */
export async function showOverview(c: ConsoleContext): Promise<Response> {
  return answerJson(c, await c.env.service.sources.overview());
}

/** `GET /api/samples`: the last hour. */
export function showSamples(c: ConsoleContext): Response {
  return answerJson(c, { interval_seconds: sampleIntervalS, samples: c.env.service.samples.kept });
}

/** `GET /api/live`: the overview whenever it changes, and each sample. */
export function showLive(c: ConsoleContext): Response {
  return answerEvents(c, (stream) => c.env.service.live.add(stream));
}
