import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '../../lib/clock.ts';
import { isServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';
import { type Answer, maxMessageBytes, type Question, type Reply, readAnswer, readQuestion } from './node-messages.ts';

/** How often a node looks for questions, and one that asked for answers, in milliseconds. */
const questionsEveryMs = 250;
const answersEveryMs = 50;

/** Questions that a node answers at once; more wait. */
const maxAtOnce = 10;

/** Messages that wait for one who reads them. */
const maxWaiting = 100;

/** An answer that nobody wants any more is kept for so long, in milliseconds. */
const answerKeptMs = 30_000;

/** KEYS list; ARGV message, ms. Returns whether there was room. */
const putScript = redisScript(`
if redis.call('LLEN', KEYS[1]) >= ${maxWaiting} then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`);

/** KEYS list; ARGV most bytes. Returns the first message, or nothing; one that is too long is empty. */
const takeScript = redisScript(`
local message = redis.call('LPOP', KEYS[1])
return message and #message > tonumber(ARGV[1]) and '' or message`);

/** What is asked, without what tells one question from another. */
export type Request<Kind extends Question['kind']> = { kind: Kind } & Omit<Extract<Question, { kind: Kind }>, 'id' | 'kind'>;

/** Answers questions of other nodes. @throws ServiceError what they are told */
export type Answerer = (question: Question) => Promise<Reply<Question['kind']>>;

/** What nodes ask each other: each question is taken once, and answered when it was in time. */
export class NodeQuestions {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #log: Log;
  #timer: Timer | undefined;
  #isLooking = false;
  #answering = 0;

  constructor(link: RedisLink, { clock, log }: { clock: Clock; log: Log }) {
    this.#link = link;
    this.#clock = clock;
    this.#log = log;
  }

  /** Begins to answer as a node. */
  begin(node: string, answer: Answerer): void {
    this.#timer = this.#clock.every(questionsEveryMs, () => void this.#look(node, answer));
  }

  end(): void {
    this.#timer?.cancel();
  }

  /**
   * Asks some nodes, and waits until all have answered or the time is over.
   *
   * @returns the answers, by node
   * @throws ServiceError `unavailable` when Redis is away; nodes may have taken the question all the same
   */
  async ask<Kind extends Question['kind']>(
    nodes: readonly string[],
    request: Request<Kind>,
    timeoutMs: number,
  ): Promise<Map<string, Answer<Kind>>> {
    const id = randomUUID();
    const message = JSON.stringify({ id, ...request });
    for (const node of nodes) await this.#link.run(putScript, [this.#questionsKey(node)], [message, timeoutMs]);
    const answers = new Map<string, Answer<Kind>>();
    const endMs = this.#clock.monotonicMs() + timeoutMs;
    let bad = 0;
    while (answers.size < nodes.length && bad < maxWaiting && this.#clock.monotonicMs() < endMs) {
      const text = await this.#take(this.#answersKey(id));
      if (text === undefined) {
        await this.#clock.sleep(answersEveryMs);
        continue;
      }
      const answer = readAnswer(request.kind as Kind, text);
      if (answer && nodes.includes(answer.node)) answers.set(answer.node, answer);
      else bad++;
    }
    if (bad > 0) this.#log.warn('answers of nodes are not understood', { question: request.kind, answers: bad });
    return answers;
  }

  async #look(node: string, answer: Answerer): Promise<void> {
    if (this.#isLooking || !this.#link.isReady) return;
    this.#isLooking = true;
    let bad = 0;
    try {
      while (this.#answering < maxAtOnce && bad < maxWaiting) {
        const text = await this.#take(this.#questionsKey(node));
        if (text === undefined) break;
        const question = readQuestion(text);
        if (question) void this.#answer(node, question, answer);
        else bad++;
      }
    } catch {
      // Redis is away; the link says so.
    } finally {
      this.#isLooking = false;
    }
    if (bad > 0) this.#log.warn('questions of other nodes are not understood', { questions: bad });
  }

  async #answer(node: string, question: Question, answer: Answerer): Promise<void> {
    this.#answering++;
    try {
      const message = JSON.stringify({ node, ...(await outcomeOf(answer(question))) });
      await this.#link.run(putScript, [this.#answersKey(question.id)], [message, answerKeptMs]);
    } catch (error) {
      this.#log.debug('a node could not be answered', { question: question.kind, reason: error });
    } finally {
      this.#answering--;
    }
  }

  async #take(key: string): Promise<string | undefined> {
    const text = (await this.#link.run(takeScript, [key], [maxMessageBytes])) as string | null;
    return text ?? undefined;
  }

  #questionsKey(node: string): string {
    return this.#link.key('node-questions', node);
  }

  #answersKey(id: string): string {
    return this.#link.key('node-answers', id);
  }
}

async function outcomeOf(reply: Promise<unknown>): Promise<object> {
  try {
    return { reply: await reply };
  } catch (error) {
    const code = isServiceError(error) ? error.code : 'internal';
    return { refused: { code, message: (error as Error).message } };
  }
}
