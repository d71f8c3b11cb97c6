import { randomUUID } from 'node:crypto';
import type { Clock, Timer } from '../../lib/clock.ts';
import { isServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import {
  type Answer,
  type MessageBox,
  maxMessageBytes,
  type NodeTexts,
  type Question,
  type Reply,
  readAnswer,
  readQuestion,
} from './node-messages.ts';

/** Intervals, in milliseconds, at which a node checks for questions and, after it has asked, for answers. */
const questionsEveryMs = 250;
const answersEveryMs = 50;

/** Maximum number of questions that a node answers at the same time. Further questions wait. */
const maxAtOnce = 10;

/** Maximum number of unreadable messages that one check for questions skips, and that one call of `ask` skips while it waits for answers. */
const maxBad = 100;

/** Time in milliseconds for which an answer is kept until it is fetched. */
const answerKeptMs = 30_000;

export type Request<Kind extends Question['kind']> = { kind: Kind } & Omit<Extract<Question, { kind: Kind }>, 'id' | 'kind'>;

/** Answers a question of another node. @throws ServiceError, which is sent back as the answer */
export type Answerer = (question: Question) => Promise<Reply<Question['kind']>>;

/** Questions between nodes. Each question is taken from Redis only once. A question that a node does not take in time expires. */
export class NodeQuestions {
  readonly #texts: NodeTexts;
  readonly #clock: Clock;
  readonly #log: Log;
  #timer: Timer | undefined;
  #isChecking = false;
  #answering = 0;

  constructor(texts: NodeTexts, { clock, log }: { clock: Clock; log: Log }) {
    this.#texts = texts;
    this.#clock = clock;
    this.#log = log;
  }

  /** Starts to answer the questions that other nodes send to the given node. */
  begin(node: string, answer: Answerer): void {
    this.#timer = this.#clock.every(questionsEveryMs, () => void this.#check(node, answer));
  }

  end(): void {
    this.#timer?.cancel();
  }

  /**
   * Asks some nodes, and waits until all have answered or the timeout has passed.
   *
   * @returns the answers, by node
   * @throws ServiceError `unavailable` if nodes cannot be reached. Some nodes may have received the question anyway
   */
  async ask<Kind extends Question['kind']>(
    nodes: readonly string[],
    request: Request<Kind>,
    timeoutMs: number,
  ): Promise<Map<string, Answer<Kind>>> {
    const id = randomUUID();
    const message = JSON.stringify({ id, ...request });
    for (const node of nodes) await this.#texts.put(['node-questions', node], message, timeoutMs);
    const answers = new Map<string, Answer<Kind>>();
    const endMs = this.#clock.monotonicMs() + timeoutMs;
    let bad = 0;
    while (answers.size < nodes.length && bad < maxBad && this.#clock.monotonicMs() < endMs) {
      const text = await this.#take(['node-answers', id]);
      if (text === undefined) {
        await this.#clock.sleep(answersEveryMs);
        continue;
      }
      const answer = readAnswer(request.kind as Kind, text);
      if (answer && nodes.includes(answer.node)) answers.set(answer.node, answer);
      else bad++;
    }
    if (bad > 0) this.#log.warn('an answer of another node cannot be read', { question: request.kind, answers: bad });
    return answers;
  }

  async #check(node: string, answer: Answerer): Promise<void> {
    if (this.#isChecking || this.#texts.silence !== '') return;
    this.#isChecking = true;
    let bad = 0;
    try {
      while (this.#answering < maxAtOnce && bad < maxBad) {
        const text = await this.#take(['node-questions', node]);
        if (text === undefined) break;
        const question = readQuestion(text);
        if (question) void this.#answer(node, question, answer);
        else bad++;
      }
    } catch {
      // The store itself logs that Redis cannot be reached.
    } finally {
      this.#isChecking = false;
    }
    if (bad > 0) this.#log.warn('a question of another node cannot be read', { questions: bad });
  }

  async #answer(node: string, question: Question, answer: Answerer): Promise<void> {
    this.#answering++;
    try {
      const message = JSON.stringify({ node, ...(await settleReply(answer(question))) });
      await this.#texts.put(['node-answers', question.id], message, answerKeptMs);
    } catch (error) {
      this.#log.debug('a node could not be answered', { question: question.kind, reason: error });
    } finally {
      this.#answering--;
    }
  }

  #take(box: MessageBox): Promise<string | undefined> {
    return this.#texts.take(box, maxMessageBytes);
  }
}

async function settleReply(reply: Promise<unknown>): Promise<object> {
  try {
    return { reply: await reply };
  } catch (error) {
    const code = isServiceError(error) ? error.code : 'internal';
    return { refused: { code, message: (error as Error).message } };
  }
}
