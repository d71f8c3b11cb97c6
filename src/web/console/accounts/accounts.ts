import type { AuthTestReport, Decision, MethodReport } from '../../../config/report-shapes.ts';
import type { AccountView } from '../../../console/api/schemas/accounts.ts';
import type { DeliveryPage } from '../../../console/api/schemas/deliveries.ts';
import type { OccurrenceRun } from '../../../expectations/told-occurrence.ts';
import { type Child, make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { states } from '../expectations/due-table.ts';
import { askRecent, stateKinds } from '../expectations/occurrences.ts';
import { choice, field } from '../fields.ts';
import { text } from '../language.ts';
import { ask, withQuery } from '../request.ts';
import { hashFor, type SectionName } from '../route.ts';
import { actionButton, badge, facts, heading, loadingLine, panel, problem, type Stage, tell, wayTo } from '../section.ts';
import { mayChange } from '../session.ts';
import { ageElement, clear, datum, numberText } from '../shown.ts';
import { bodySource } from '../values.ts';
import {
  accountList,
  accountState,
  accountText,
  accountWord,
  componentName,
  groupText,
  quotaText,
  type SearchedPanel,
  sessionsText,
} from './account-list.ts';
import { collectionPanel, collections } from './collections.ts';

/** Shows the accounts and all collections, such as sessions, bans and tokens. Operators can also ask about rights, and test a login. */
export function showAccounts({ main, route: { query }, signal }: Stage): void {
  const search = make('input', {
    type: 'search',
    value: query.get('search') ?? '',
    ariaLabel: text('search'),
    placeholder: accountText('accountSearch'),
    autocomplete: 'off',
    autocapitalize: 'none',
  });
  const find = async () => {
    const wanted = search.value.trim();
    // Below an open tool, the field can be near the lower edge, and the list below it out of view.
    if (form.getBoundingClientRect().top > innerHeight / 3) form.scrollIntoView();
    history.replaceState(history.state, '', hashFor('accounts', '', wanted === '' ? {} : { search: wanted }));
    await load(wanted);
  };
  const submit = actionButton(text('search'), 'search', find, 'compact');
  submit.type = 'submit';
  const form = make('form.row.search', search, submit);
  form.addEventListener('submit', (event) => event.preventDefault());
  const { buttons, place } = tools({ authTestTitle: authTestPanel, explainTitle: explainPanel });
  main.replaceChildren(heading(text('accounts'), make('div.tools', ...buttons)), place, form);
  const load = showPanels(main, [accountList(signal), ...collections.map((collection) => collectionPanel(collection, signal))], signal);
}

/**
 * Shows panels, and above them a button for each, which moves to the panel.
 *
 * @param hidesEmpty whether panels without items are hidden even if nothing is searched
 * @param before shown before the buttons
 * @returns a function that searches all panels for a text
 */
function showPanels(
  main: HTMLElement,
  panels: readonly SearchedPanel[],
  signal: AbortSignal,
  hidesEmpty = false,
  before: readonly HTMLElement[] = [],
) {
  for (const { element } of panels) element.hidden = hidesEmpty;
  const counts = panels.map(() => make('span.count'));
  const leads = panels.map(({ title, element }, index) => {
    element.tabIndex = -1;
    const show = () => {
      element.scrollIntoView();
      element.focus({ preventScroll: true });
    };
    const lead = makeButton(title, undefined, show, 'small');
    lead.append(' ', counts[index] as HTMLElement);
    return lead;
  });
  const nothing = make('p.nothing');
  const none = make('section.panel', { hidden: true, role: 'status' }, nothing);
  main.append(
    make('div.presets.leads', { role: 'group', ariaLabel: text('sections') }, ...before, ...leads),
    none,
    ...panels.map(({ element }) => element),
  );
  let latest = '';
  const load = async (search: string) => {
    latest = search;
    none.hidden = true;
    const loads = panels.map(async ({ element, load: loadPanel }, index) => {
      for (const line of element.querySelectorAll(':scope > :is(.notice, .loading)')) line.remove();
      const loading = loadingLine();
      if (!element.querySelector('tbody > tr')) element.append(loading);
      try {
        const count = await loadPanel(search);
        if (search !== latest) return;
        (counts[index] as HTMLElement).textContent = numberText(count);
        element.hidden = (hidesEmpty || search !== '') && count === 0;
        (leads[index] as HTMLButtonElement).disabled = count === 0;
      } catch (error) {
        element.hidden = false;
        if (!signal.aborted) element.append(problem(error));
        document.dispatchEvent(new Event('lost'));
      } finally {
        loading.remove();
      }
    });
    await Promise.all(loads);
    if (search !== latest) return;
    none.hidden = search === '' || panels.some(({ element }) => !element.hidden);
    nothing.textContent = none.hidden ? '' : accountText('noMatch', { search: clear(search) });
  };
  void load(new URLSearchParams(location.hash.split('?')[1]).get('search') ?? '');
  return load;
}

/**
 * Builds a button for each tool, without any for viewers, and the place in which the tool opens whose button is pressed.
 *
 * @param builders functions that build the panels of the tools, by the names of the texts of their buttons
 */
function tools(builders: Partial<Record<'authTestTitle' | 'explainTitle' | 'explainThis', () => HTMLElement>>) {
  const place = make('div');
  const buttons = Object.entries(builders).map(([label, build]) => {
    let panel: HTMLElement | undefined;
    const open = () => {
      panel ??= build();
      panel.setAttribute('open', '');
      place.replaceChildren(panel);
      // The first field that the administrator must fill in, or choose from if the account is known.
      panel.querySelector<HTMLElement>('input:invalid, select')?.focus();
    };
    return makeButton(accountText(label as keyof typeof builders), undefined, open, 'quiet');
  });
  return { buttons: mayChange() ? buttons : [], place };
}

/** Builds a panel with a form and a place for the answer. @param find returns the answer to show */
function questionPanel(name: 'explain' | 'authTest', fields: readonly HTMLElement[], find: () => Promise<HTMLElement[]>): HTMLElement {
  const button = make('button.primary', accountText(`${name}Ask`));
  const answer = make('div.answer', { role: 'status' });
  const form = make('form.filter', ...fields, make('div.row.buttons', button));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    await tell(
      find().then(
        (found) => answer.replaceChildren(...found),
        (error: unknown) => answer.replaceChildren(problem(error)),
      ),
    );
    button.disabled = false;
  });
  return make('details.panel', make('summary', accountText(`${name}Title`)), make('p.hint', accountText(`${name}Hint`)), form, answer);
}

const methods = ['GET', 'PUT', 'DELETE', 'MKCOL', 'MOVE', 'COPY', 'PROPFIND', 'LOCK', 'LOGIN'].map((name) => [name, name] as const);

function plainInput(properties: { required?: boolean; value?: string } = {}): HTMLInputElement {
  return make('input', { autocomplete: 'off', autocapitalize: 'none', ...properties });
}

function explainPanel(account = '', knownGroup = ''): HTMLElement {
  const [user, group] = [plainInput({ required: true, value: account }), plainInput({ value: knownGroup })];
  const [path, destination] = [plainInput({ value: '/home/' }), plainInput()];
  const method = choice('method', methods);
  const pathField = field(text('path'), path);
  const destinationField = field(accountText('destination'), destination);
  const groupField = field(accountText('groupOptional'), group);
  groupField.title = accountText('groupHint');
  const showFields = () => {
    pathField.hidden = method.value === 'LOGIN';
    destinationField.hidden = method.value !== 'MOVE' && method.value !== 'COPY';
  };
  method.addEventListener('change', showFields);
  showFields();
  const fields = [field(text('account'), user), field(accountText('method'), method), pathField, destinationField, groupField];
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
    make(
      'p.verdict',
      badge(accountText(allowed ? 'allowed' : 'refusedWord'), allowed ? 'good' : 'bad'),
      ' ',
      reason ? datum(reason) : undefined,
    ),
    make('ol.steps', ...steps.map((step) => make(step.ok ? 'li.ok' : 'li.no', make('span.step', step.step), datum(step.text)))),
    facts(
      [text('group'), group ? datum(group) : undefined],
      [accountText('realPath'), real_path ? datum(real_path, 'code') : undefined],
      [accountText('rule'), rule ? datum(rule) : undefined],
    ),
  );
}

/** Builds the panel that tries a login. The password is sent, but not stored anywhere. */
function authTestPanel(account = ''): HTMLElement {
  const username = plainInput({ required: true, value: account });
  const password = make('input', { type: 'password', required: true, autocomplete: 'new-password' });
  const address = make('input', { autocomplete: 'off', placeholder: '192.0.2.1' });
  const fields = [field(text('userName'), username), field(text('password'), password), field(accountText('clientAddress'), address)];
  return questionPanel('authTest', fields, async () => {
    const body = { username: username.value, password: password.value, ...(address.value !== '' && { peer: address.value }) };
    password.value = '';
    const report = await ask<AuthTestReport>('POST', '/api/auth-test', { body });
    // If only one method was asked, its result is the whole outcome.
    const [first, ...others] = report.methods;
    const isOne = others.length === 0 && first?.outcome === report.outcome;
    return [...(isOne ? [] : [make('p.verdict', authBadge(report.outcome))]), ...report.methods.map(methodView)];
  });
}

function authBadge(outcome: string): HTMLElement {
  return badge(accountWord('auth', outcome), outcome === 'authenticated' ? 'good' : outcome === 'rejected' ? 'bad' : 'warn');
}

function methodView({ method, type, outcome, invalid, reason, url, status, status_reason, account, warnings }: MethodReport): HTMLElement {
  return make(
    'article.result',
    make('p', authBadge(invalid ? 'invalid' : outcome), ' ', ...(method === type ? [] : [datum(`${type} `)]), componentName(method)),
    make('p', datum(reason)),
    facts(
      [accountText('url'), url ? datum(url, 'code') : undefined],
      [text('reply'), status === undefined ? undefined : datum(`${status} ${status_reason ?? ''}`)],
      [text('group'), textOf(account?.group)],
      [accountText('home'), textOf(account?.home_folder_path, 'code')],
    ),
    account && make('details', make('summary', text('account')), bodySource(account, text('account'))),
    ...warnings.map((warning) => make('p.hint', datum(warning))),
  );
}

function textOf(value: unknown, className = ''): HTMLElement | undefined {
  return typeof value === 'string' && value !== '' ? datum(value, className) : undefined;
}

/** Shows an account with its sessions, locks, uploads, trash, tokens and links, and with the bans of its login name. */
export async function showAccount({ main, route: { id }, signal }: Stage): Promise<void> {
  const account = await ask<AccountView>('GET', `/api/accounts/${encodeURIComponent(id)}`, { signal });
  const { name, source, method, problem, group, home, quota_bytes, used_bytes, last_login, sessions } = account;
  const { buttons, place } = tools({
    authTestTitle: () => authTestPanel(name),
    explainThis: () => explainPanel(name, source === 'login' ? group : ''),
  });
  main.replaceChildren(
    wayTo('accounts'),
    heading(
      clear(name),
      accountState(account),
      make(
        'div.tools',
        ...buttons,
        make('a.button.quiet', { href: hashFor('events', '', { account: name }) }, accountText('accountEvents')),
      ),
    ),
    place,
    ...(problem === '' ? [] : [make('p.notice.error', clear(problem))]),
    panel(
      text('summary'),
      facts(
        [accountText('knownFrom'), accountWord('known', source)],
        [accountText('method'), componentName(method)],
        [text('group'), groupText(account)],
        [accountText('home'), datum(home, 'code')],
        [accountText('quota'), quota_bytes !== null && quotaText(account)],
        [accountText('quotaFree'), quota_bytes !== null && used_bytes !== null && sizeText(Math.max(quota_bytes - used_bytes, 0))],
        [accountText('lastLogin'), ageElement(last_login?.time)],
        [text('address'), last_login ? datum(last_login.address) : undefined],
        [text('service'), last_login ? componentName(last_login.service) : undefined],
        [accountText('sessions_title'), sessions.length > 0 && sessionsText(account)],
      ),
    ),
  );
  showPanels(
    main,
    collections.map((collection) => collectionPanel(collection, signal, name)),
    signal,
    true,
    elsewhere(name, signal),
  );
}

/** Deliveries that are searched for those of an account. */
const maxSearched = 500;

/** Builds links to what other sections have of an account, each with the number of items. Without any, a link leads nowhere. */
function elsewhere(name: string, signal: AbortSignal): HTMLElement[] {
  const link = (title: string, section: SectionName, query: Record<string, string>, count: () => Promise<Child[]>) => {
    const place = make('a.button.small', `${title} `);
    const show = (counts: Child[]) => {
      if (counts.length === 0) place.append(make('span.count', '0'));
      else {
        place.href = hashFor(section, '', { ...query, account: name });
        place.append(...(counts as Node[]));
      }
    };
    // Without a number, the link leads nowhere, because the section would fail in the same way.
    void count().then(show, () => {});
    return place;
  };
  const shown = (count: number, end = '') => (count === 0 ? [] : [make('span.count', `${numberText(count)}${end}`)]);
  const held = async () =>
    shown((await ask<{ total: number }>('GET', withQuery('/api/held', { account: name, limit: '1' }), { signal })).total);
  const due = async () => {
    const { expectations, runs } = await askRecent(signal);
    const own = new Set(expectations.filter(({ account }) => account === name).map(({ expectation }) => expectation));
    const isBad = ({ state, watched }: OccurrenceRun) => watched !== false && ['bad', 'warn'].includes(stateKinds[state]);
    const bad = runs.filter((run) => own.has(run.expectation) && isBad(run));
    return bad.length === 0 ? shown(own.size) : [states(bad)];
  };
  const failed = async () => {
    const query = { outcome: 'failed', since: new Date(Date.now() - 86_400_000).toISOString(), limit: String(maxSearched) };
    const { deliveries, next } = await ask<DeliveryPage>('GET', withQuery('/api/deliveries', query), { signal });
    return shown(deliveries.filter(({ first_event }) => first_event?.account.name === name).length, next === null ? '' : '+');
  };
  return [
    link(text('held'), 'held', {}, held),
    link(text('expectations'), 'expectations', {}, due),
    link(accountText('failedDeliveries'), 'deliveries', { outcome: 'failed', last: '24h' }, failed),
  ];
}
