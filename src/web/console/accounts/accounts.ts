import type { AuthTestReport, Decision, MethodReport } from '../../../config/report-shapes.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { confirm } from '../confirm.ts';
import { choice, field } from '../fields.ts';
import { text, translate } from '../language.ts';
import { ask, withQuery } from '../request.ts';
import { actionButton, badge, facts, heading, panel, problem, type Stage, tell } from '../section.ts';
import { mayChange } from '../session.ts';
import { clear, datum, timeElement, tree } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';

/** A session, ban, lock or unfinished upload, as the API shows it. */
type Item = Readonly<Record<string, string | number | null | undefined>> & { id: string };

interface Collection {
  name: 'sessions' | 'bans' | 'locks' | 'uploads';
  columns: readonly Column<Item>[];
  /** Names the item in the question whether to remove it. */
  label: (item: Item) => string;
}

const column = (name: 'account' | 'address' | 'owner' | 'path'): Column<Item> => ({ title: text(name), cell: (item) => datum(item[name]) });
const time = (name: 'created' | 'expires'): Column<Item> => ({
  title: text(name),
  cell: (item) => timeElement(String(item[name] ?? '')),
  className: 'narrow',
});
const progress: Column<Item> = {
  title: text('progress'),
  cell: ({ received_bytes, total_bytes }) => {
    const [done, total] = [Number(received_bytes), Number(total_bytes)];
    return total > 0 ? text('running', { done: sizeText(done), total: sizeText(total) }) : sizeText(done);
  },
  className: 'number',
};

/** In the order of the page. */
const collections: readonly Collection[] = [
  {
    name: 'sessions',
    columns: [column('account'), column('address'), time('created'), time('expires')],
    label: ({ account, address }) => `${account} (${address})`,
  },
  {
    name: 'bans',
    columns: [
      column('address'),
      column('account'),
      { title: text('logins'), cell: ({ logins }) => translate('logins', String(logins ?? 'files')) },
      time('expires'),
    ],
    label: ({ id }) => id,
  },
  {
    name: 'locks',
    columns: [column('path'), column('account'), column('address'), column('owner'), time('expires')],
    label: ({ path }) => String(path),
  },
  { name: 'uploads', columns: [column('path'), column('account'), progress, time('expires')], label: ({ path }) => String(path) },
];

function collectionPanel({ name, columns, label: labelOf }: Collection, signal: AbortSignal): HTMLElement {
  const title = text(`${name}_title`);
  const action: Column<Item> = {
    title: text('action'),
    cell: (item) => makeButton(text(`${name}_remove`), 'close', () => void tell(remove(item)), 'quiet small'),
    className: 'narrow',
  };
  const table = makeTable<Item>(title, text(`${name}_none`), mayChange() ? [...columns, action] : columns, ({ id }) => id);
  const search = make('input', {
    type: 'search',
    ariaLabel: text('filterBy', { title }),
    placeholder: text('account'),
    autocomplete: 'off',
    autocapitalize: 'none',
  });
  const load = async () => {
    const wanted = search.value.trim();
    const isAddress = name === 'bans' && /^[\da-f.:/]*[.:][\da-f.:/]*$/i.test(wanted);
    const query = isAddress ? { address: wanted } : { account: name === 'bans' ? wanted.toLowerCase() : wanted };
    table.show((await ask<{ items: Item[] }>('GET', withQuery(`/api/${name}`, query), { signal })).items);
  };
  const remove = async (item: Item) => {
    const content = [make('p', make('bdi', clear(labelOf(item)))), make('p.hint', text(`${name}_effect`))];
    const label = name === 'uploads' ? text('uploads_remove_long') : text(`${name}_remove`);
    const button = { label, kind: 'primary danger' } as const;
    const act = () => ask('DELETE', withQuery(`/api/${name}`, { id: item.id }));
    if (!(await confirm(text(`${name}_question`), content, button, act, name === 'uploads' ? text('keepIt') : undefined))) return;
    notice(text(`${name}_removed`));
    await load();
  };
  const reload = actionButton(text('search'), 'search', load, 'compact');
  reload.type = 'submit';
  const form = make('form.row.search', search, reload);
  form.addEventListener('submit', (event) => event.preventDefault());
  const element = panel(title, form, table.element);
  load().catch((error: unknown) => signal.aborted || element.append(problem(error)));
  return element;
}

/** A panel with a form for a question, and its answer. @param find returns the answer to show */
function questionPanel(name: 'explain' | 'authTest', fields: readonly HTMLElement[], find: () => Promise<HTMLElement[]>): HTMLElement {
  const button = make('button.primary', text(`${name}Ask`));
  const answer = make('div.answer', { role: 'status' });
  const form = make('form.filter', ...fields, make('div.row.buttons', button));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    answer.replaceChildren(...(await find().catch((error: unknown) => [problem(error)])));
    button.disabled = false;
  });
  return panel(text(`${name}Title`), make('p.hint', text(`${name}Hint`)), form, answer);
}

const methods = ['GET', 'PUT', 'DELETE', 'MKCOL', 'MOVE', 'COPY', 'PROPFIND', 'LOCK', 'LOGIN'].map((name) => [name, name] as const);

function plainInput(properties: { required?: boolean; value?: string } = {}): HTMLInputElement {
  return make('input', { autocomplete: 'off', autocapitalize: 'none', ...properties });
}

function explainPanel(): HTMLElement {
  const [user, group, path, destination] = [plainInput({ required: true }), plainInput(), plainInput({ value: '/home/' }), plainInput()];
  const method = choice('method', methods);
  const pathField = field(text('path'), path);
  const destinationField = field(text('destination'), destination);
  const showFields = () => {
    pathField.hidden = method.value === 'LOGIN';
    destinationField.hidden = method.value !== 'MOVE' && method.value !== 'COPY';
  };
  method.addEventListener('change', showFields);
  showFields();
  const fields = [
    field(text('account'), user),
    field(text('groupOptional'), group),
    field(text('method'), method),
    pathField,
    destinationField,
  ];
  return questionPanel('explain', fields, async () => {
    const body = {
      user: user.value,
      method: method.value,
      ...(group.value !== '' && { group: group.value }),
      ...(!pathField.hidden && { path: path.value }),
      ...(!destinationField.hidden && { destination: destination.value }),
    };
    return [decisionView(await ask<Decision>('POST', '/api/explain', { body }))];
  });
}

function decisionView({ allowed, reason, steps, group, real_path, rule }: Decision): HTMLElement {
  return make(
    'div',
    make('p.verdict', badge(text(allowed ? 'allowed' : 'refusedWord'), allowed ? 'good' : 'bad'), ' ', datum(reason)),
    make('ol.steps', ...steps.map((step) => make(step.ok ? 'li.ok' : 'li.no', make('span.step', step.step), datum(step.text)))),
    facts(
      [text('group'), group ? datum(group) : undefined],
      [text('realPath'), real_path ? datum(real_path, 'code') : undefined],
      [text('rule'), rule ? datum(rule) : undefined],
    ),
  );
}

/** Tries a login. The password is sent, and kept nowhere. */
function authTestPanel(): HTMLElement {
  const username = plainInput({ required: true });
  const password = make('input', { type: 'password', required: true, autocomplete: 'new-password' });
  const address = make('input', { autocomplete: 'off', placeholder: '192.0.2.1' });
  const fields = [field(text('userName'), username), field(text('password'), password), field(text('clientAddress'), address)];
  return questionPanel('authTest', fields, async () => {
    const body = { username: username.value, password: password.value, ...(address.value !== '' && { peer: address.value }) };
    password.value = '';
    const report = await ask<AuthTestReport>('POST', '/api/auth-test', { body });
    return [make('p.verdict', authBadge(report.outcome)), ...report.methods.map(methodView)];
  });
}

function authBadge(outcome: string): HTMLElement {
  return badge(translate('auth', outcome), outcome === 'authenticated' ? 'good' : outcome === 'rejected' ? 'bad' : 'warn');
}

function methodView({ method, type, outcome, reason, url, status, status_reason, account, warnings }: MethodReport): HTMLElement {
  return make(
    'article.result',
    make('p', authBadge(outcome), ' ', datum(`${type} `), datum(method, 'code')),
    facts(
      [text('reason'), datum(reason)],
      [text('url'), url ? datum(url, 'code') : undefined],
      [text('reply'), status === undefined ? undefined : datum(`${status} ${status_reason ?? ''}`)],
      [text('account'), account ? tree(account) : undefined],
    ),
    ...warnings.map((warning) => make('p.hint', datum(warning))),
  );
}

/** Shows the sessions, bans, locks and uploads of accounts, and answers what an account may do. */
export function showAccounts({ main, signal }: Stage): void {
  main.append(heading(text('accounts')), ...collections.map((collection) => collectionPanel(collection, signal)));
  // Both are asked by POST, which a viewer may not send.
  if (mayChange()) main.append(make('div.pair', explainPanel(), authTestPanel()));
}
