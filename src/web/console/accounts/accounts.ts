import type { AuthTestReport, Decision, MethodReport } from '../../../config/report-shapes.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { confirm } from '../confirm.ts';
import { choice, field } from '../fields.ts';
import { type TextName, text, wordOf } from '../language.ts';
import { ask, withQuery } from '../request.ts';
import { actionButton, badge, facts, heading, panel, problem, type Stage, yesNoBadge } from '../section.ts';
import { mayChange } from '../session.ts';
import { clear, datum, timeOf, tree } from '../shown.ts';
import { type Column, Table } from '../table.ts';

/** A session, ban, lock or unfinished upload, as the API shows it. */
type Item = Readonly<Record<string, string | number | null | undefined>> & { id: string };

type CollectionName = 'sessions' | 'bans' | 'locks' | 'uploads';

interface CollectionModel {
  name: CollectionName;
  columns: () => Column<Item>[];
  /** What the item is called when somebody is asked whether it shall go. */
  label: (item: Item) => string;
}

const column = (title: TextName, name: string, className = ''): Column<Item> => ({
  title: text(title),
  cell: (item) => datum(item[name] === undefined || item[name] === null ? '' : String(item[name])),
  className,
});
const time = (title: TextName, name: string): Column<Item> => ({
  title: text(title),
  cell: (item) => timeOf(String(item[name] ?? '')),
  className: 'narrow',
});

/** Collections of what accounts have, in the order of the page. */
const collections: readonly CollectionModel[] = [
  {
    name: 'sessions',
    columns: () => [column('account', 'account'), column('address', 'address'), time('created', 'created'), time('expires', 'expires')],
    label: ({ account, address }) => `${account} (${address})`,
  },
  {
    name: 'bans',
    columns: () => [column('address', 'address'), column('account', 'account'), time('expires', 'expires')],
    label: ({ id }) => id,
  },
  {
    name: 'locks',
    columns: () => [
      column('path', 'path'),
      column('account', 'account'),
      column('address', 'address'),
      column('owner', 'owner'),
      time('expires', 'expires'),
    ],
    label: ({ path }) => String(path),
  },
  {
    name: 'uploads',
    columns: () => [
      column('path', 'path'),
      column('account', 'account'),
      {
        title: text('progress'),
        cell: (item) => sizesOf(Number(item.received_bytes), Number(item.total_bytes)),
        className: 'number',
      },
      time('expires', 'expires'),
    ],
    label: ({ path }) => String(path),
  },
];

function sizesOf(done: number, total: number): string {
  return total > 0 ? text('running', { done: sizeText(done), total: sizeText(total) }) : sizeText(done);
}

/** One collection with what can be done with its items. */
class CollectionPanel {
  readonly element: HTMLElement;
  readonly #model: CollectionModel;
  readonly #table: Table<Item>;
  readonly #signal: AbortSignal;
  readonly #search: HTMLInputElement;

  constructor(model: CollectionModel, signal: AbortSignal) {
    this.#model = model;
    this.#signal = signal;
    const { name } = model;
    const title = text(`${name}_title`);
    const actions: Column<Item>[] = mayChange()
      ? [
          {
            title: text('action'),
            cell: (item) => makeButton(text(`${name}_remove`), 'close', () => void this.#remove(item), 'quiet small'),
            className: 'narrow',
          },
        ]
      : [];
    this.#table = new Table<Item>(title, text(`${name}_none`), [...model.columns(), ...actions], ({ id }) => id);
    this.#search = make('input', {
      type: 'search',
      attributes: {
        'aria-label': text('filterBy', { title }),
        placeholder: text('account'),
        autocomplete: 'off',
        autocapitalize: 'none',
      },
    });
    const reload = actionButton(text('search'), 'search', () => this.load(), 'compact');
    const form = make('form', { className: 'row search' }, this.#search, reload);
    form.addEventListener('submit', (event) => event.preventDefault());
    reload.type = 'submit';
    this.element = panel(title, form, this.#table.element);
  }

  async load(): Promise<void> {
    const { name } = this.#model;
    const wanted = this.#search.value.trim();
    const isAddress = name === 'bans' && /^[\da-f.:/]*[.:][\da-f.:/]*$/i.test(wanted);
    const query = isAddress ? { address: wanted } : { account: name === 'bans' ? wanted.toLowerCase() : wanted };
    const { items } = await ask<{ items: Item[] }>('GET', withQuery(`/api/${name}`, query), { signal: this.#signal });
    this.#table.show(items);
  }

  async #remove(item: Item): Promise<void> {
    const { name, label } = this.#model;
    const content = [make('p', {}, make('bdi', {}, clear(label(item)))), make('p', { className: 'hint' }, text(`${name}_effect`))];
    const button = { label: text(`${name}_remove`), kind: 'primary danger' } as const;
    const isRemoved = await confirm(text(`${name}_question`), content, button, async () => {
      await ask('DELETE', withQuery(`/api/${name}`, { id: item.id }));
      return undefined;
    });
    if (!isRemoved) return;
    notice(text(`${name}_removed`));
    await this.load();
  }
}

/** A form that asks a question, and the place of its answer. @param find asks it; what it gives is shown */
function answerForm(label: string, fields: readonly HTMLElement[], find: () => Promise<HTMLElement[]>) {
  const button = make('button', { className: 'primary' }, label);
  const answer = make('div', { className: 'answer', attributes: { role: 'status' } });
  const form = make('form', { className: 'filter' }, ...fields, make('div', { className: 'row buttons' }, button));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      answer.replaceChildren(...(await find()));
    } catch (error) {
      answer.replaceChildren(problem(error));
    }
    button.disabled = false;
  });
  return { form, answer };
}

const methods = ['GET', 'PUT', 'DELETE', 'MKCOL', 'MOVE', 'COPY', 'PROPFIND', 'LOCK', 'LOGIN'];

/** The question what an account may do, and its answer. */
function explainPanel(): HTMLElement {
  const user = make('input', { required: true, attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const group = make('input', { attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const method = choice(
    'method',
    methods.map((name) => [name, name] as const),
  );
  const path = make('input', { value: '/home/', attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const destination = make('input', { attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const pathField = field(text('path'), path);
  const destinationField = field(text('destination'), destination);
  const settle = () => {
    pathField.hidden = method.value === 'LOGIN';
    destinationField.hidden = method.value !== 'MOVE' && method.value !== 'COPY';
  };
  method.addEventListener('change', settle);
  settle();
  const { form, answer } = answerForm(
    text('explainAsk'),
    [field(text('account'), user), field(text('groupOptional'), group), field(text('method'), method), pathField, destinationField],
    async () => {
      const body = {
        user: user.value,
        method: method.value,
        ...(group.value !== '' && { group: group.value }),
        ...(!pathField.hidden && { path: path.value }),
        ...(!destinationField.hidden && { destination: destination.value }),
      };
      return [decisionView(await ask<Decision>('POST', '/api/explain', { body }))];
    },
  );
  return panel(text('explainTitle'), make('p', { className: 'hint' }, text('explainHint')), form, answer);
}

function decisionView(decision: Decision): HTMLElement {
  const steps = decision.steps.map(({ step, ok, text: words }) =>
    make('li', { className: ok ? 'ok' : 'no' }, make('span', { className: 'step' }, step), datum(words)),
  );
  return make(
    'div',
    {},
    make(
      'p',
      { className: 'verdict' },
      yesNoBadge(decision.allowed, text('allowed'), text('refusedWord')),
      ' ',
      datum(decision.reason ?? ''),
    ),
    make('ol', { className: 'steps' }, ...steps),
    facts(
      [text('group'), decision.group ? datum(decision.group) : undefined],
      [text('realPath'), decision.real_path ? datum(decision.real_path, 'code') : undefined],
      [text('rule'), decision.rule ? datum(decision.rule) : undefined],
    ),
  );
}

/** Tries a login; what it is tried with is sent, and kept nowhere. */
function authTestPanel(): HTMLElement {
  const username = make('input', { required: true, attributes: { autocomplete: 'off', autocapitalize: 'none' } });
  const password = make('input', { type: 'password', required: true, attributes: { autocomplete: 'new-password' } });
  const address = make('input', { attributes: { autocomplete: 'off', placeholder: '192.0.2.1' } });
  const { form, answer } = answerForm(
    text('authTestAsk'),
    [field(text('userName'), username), field(text('password'), password), field(text('clientAddress'), address)],
    async () => {
      const body = { username: username.value, password: password.value, ...(address.value !== '' && { peer: address.value }) };
      password.value = '';
      const report = await ask<AuthTestReport>('POST', '/api/auth-test', { body });
      return [make('p', { className: 'verdict' }, outcomeOf(report.outcome)), ...report.methods.map(methodView)];
    },
  );
  return panel(text('authTestTitle'), make('p', { className: 'hint' }, text('authTestHint')), form, answer);
}

function outcomeOf(outcome: string): HTMLElement {
  const kind = outcome === 'authenticated' ? 'good' : outcome === 'rejected' ? 'bad' : 'warn';
  return badge(wordOf('auth', outcome), kind);
}

function methodView({ method, type, outcome, reason, url, status, status_reason, account, warnings }: MethodReport): HTMLElement {
  return make(
    'article',
    { className: 'result' },
    make('p', {}, outcomeOf(outcome), ' ', datum(`${type} `), datum(method, 'code')),
    facts(
      [text('reason'), datum(reason)],
      [text('url'), url ? datum(url, 'code') : undefined],
      [text('reply'), status === undefined ? undefined : datum(`${status} ${status_reason ?? ''}`)],
      [text('account'), account ? tree(account) : undefined],
    ),
    ...warnings.map((warning) => make('p', { className: 'hint' }, datum(warning))),
  );
}

/** Shows who is logged in and what they hold, and answers what an account may do. */
export async function showAccounts({ main, signal }: Stage): Promise<void> {
  const panels = collections.map((model) => new CollectionPanel(model, signal));
  main.append(
    heading(text('accounts')),
    ...panels.map(({ element }) => element),
    // Both are asked by POST, which a viewer may not send.
    ...(mayChange() ? [make('div', { className: 'pair' }, explainPanel(), authTestPanel())] : []),
  );
  await Promise.all(
    panels.map(async (panel) => {
      try {
        await panel.load();
      } catch (error) {
        if (!signal.aborted) panel.element.append(problem(error));
      }
    }),
  );
}
