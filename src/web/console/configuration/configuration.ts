import type { Finding } from '../../../config/report-shapes.ts';
import type { Changes, ReloadOfAll, RunningConfiguration } from '../../../console/api/schemas/configuration.ts';
import { make } from '../../shared/dom.ts';
import { partTexts } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import de from '../../texts/configuration/de.json' with { type: 'json' };
import en from '../../texts/configuration/en.json' with { type: 'json' };
import es from '../../texts/configuration/es.json' with { type: 'json' };
import fr from '../../texts/configuration/fr.json' with { type: 'json' };
import germanFindings from '../../texts/findings/de.json' with { type: 'json' };
import spanishFindings from '../../texts/findings/es.json' with { type: 'json' };
import frenchFindings from '../../texts/findings/fr.json' with { type: 'json' };
import { confirm } from '../confirm.ts';
import { field } from '../fields.ts';
import { makeTemplate, text, translate, translateFirst } from '../language.ts';
import { ask } from '../request.ts';
import { actionButton, badge, dropSuccess, heading, loadingLine, panel, problem, refuse, type Stage, tell } from '../section.ts';
import { mayChange } from '../session.ts';
import { clear, datum } from '../shown.ts';
import { tree } from '../values.ts';

const ownText = partTexts<keyof typeof en>({ en, de, es, fr });

const findingTexts: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  de: germanFindings,
  es: spanishFindings,
  fr: frenchFindings,
};

/** Frequent messages and hints of findings, and phrases in them. */
const findingTemplates = Object.entries(findingTexts[document.documentElement.lang] ?? {}).map((pair) => makeTemplate(...pair));

/** The findings of a check. `file` is null if the server has no configuration file. */
interface Findings {
  file: string | null;
  findings: Finding[];
}

/** Shows the running configuration, the findings about its file, and what a reload would change. */
export async function showConfiguration({ main, signal }: Stage): Promise<void> {
  const [findings, changes, running] = [make('div', loadingLine()), make('div', loadingLine()), make('div', loadingLine())];
  const reloadButton = mayChange() ? actionButton(ownText('reload'), undefined, () => reload(load)) : undefined;
  const load = async () => {
    await Promise.all([
      filled(findings, signal, async () => {
        const found = await ask<Findings>('GET', '/api/configuration/findings', { signal });
        if (reloadButton) reloadButton.hidden = found.file === null;
        return findingsView(found);
      }),
      filled(changes, signal, async () => {
        const found = await ask<Changes>('GET', '/api/configuration/changes', { signal });
        if (reloadButton) refuse(reloadButton, !found.would_reload);
        reloadButton?.classList.toggle('primary', found.would_reload && found.changes.length > 0);
        return changesView(found);
      }),
      filled(running, signal, async () => [configurationView(await ask<RunningConfiguration>('GET', '/api/configuration', { signal }))]),
    ]);
  };
  main.replaceChildren(
    heading(text('configuration'), reloadButton, actionButton(text('heldRefresh'), 'refresh', load, 'compact')),
    make('p.hint', ownText('configurationHint')),
    panel(ownText('findings'), findings),
    panel(ownText('changes'), changes),
    panel(ownText('runningConfiguration'), running),
  );
  await load();
  // The file was perhaps edited while the window was in the background.
  const again = () => {
    dropSuccess();
    void tell(load());
  };
  addEventListener('focus', again, { signal });
}

async function filled(place: HTMLElement, signal: AbortSignal, make: () => Promise<readonly HTMLElement[]>): Promise<void> {
  try {
    const nodes = await make();
    place.replaceChildren(...nodes);
  } catch (error) {
    if (!signal.aborted) place.replaceChildren(problem(error));
    document.dispatchEvent(new Event('lost'));
  }
}

async function reload(load: () => Promise<void>): Promise<void> {
  let outcome: ReloadOfAll | undefined;
  const { changes } = await ask<Changes>('GET', '/api/configuration/changes');
  const told = changes.length === 0 ? ownText('noChanges') : ownText('reloadChanges', { count: changes.length });
  const button = { label: ownText('reload'), kind: 'primary' } as const;
  await confirm(ownText('reloadQuestion'), [make('p', told), make('p.hint', ownText('reloadHint'))], button, async () => {
    outcome = await ask<ReloadOfAll>('POST', '/api/configuration/reload', { body: {} });
    return outcome.reason ? clear(outcome.reason) : undefined;
  });
  if (!outcome) return;
  if (!outcome.reason) notice(ownText('reloaded', { count: outcome.changes.length }));
  const ended = outcome.nodes.map((node) => node.ended);
  const sum = (name: keyof ReloadOfAll['ended']) => ended.reduce((total, counts) => total + counts[name], 0);
  const [sessions, connections, transfers] = [sum('sessions'), sum('connections'), sum('transfers')];
  if (sessions + connections + transfers > 0) notice(ownText('reloadEnded', { sessions, connections, transfers }));
  for (const { node, reloaded, reason } of outcome.nodes.slice(1))
    if (!reloaded) notice(ownText('notReloadedAt', { node: clear(node), reason: clear(reason ?? '') }), 'error');
  if (outcome.incomplete) notice(text('incomplete', { reason: clear(outcome.incomplete) }), 'error');
  await load();
}

function findingsView({ file, findings }: Findings): readonly HTMLElement[] {
  if (file === null) return [make('p.nothing', ownText('noFile'))];
  if (findings.length === 0) return [make('p.nothing', ownText('noFindings'))];
  const kinds = { error: 'bad', warning: 'warn' } as const;
  const order = ['error', 'warning'];
  const sorted = findings.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  return sorted.map(({ severity, code, line, path, message, hint }) => {
    const place = line ? make('span.hint', ownText('line', { number: line })) : undefined;
    const head = make('p', badge(translate('severity', severity), kinds[severity]), ' ', datum(path, 'code'), ' ', place);
    const advice = [hint && translateFirst(hint, findingTemplates), code].filter(Boolean).join(' · ');
    return make('article.result', head, make('p', datum(translateFirst(message, findingTemplates))), make('p.hint', datum(advice)));
  });
}

function changesView({ changes, reason }: Changes): readonly HTMLElement[] {
  const refusal = reason === null ? [] : [make('p.reason', ownText('reloadRefused', { reason: clear(reason) }))];
  if (changes.length === 0) return reason === null ? [make('p.nothing', ownText('noChanges'))] : refusal;
  return [...refusal, ...changes.map(changeView)];
}

function changeView({ path, old, new: next }: Changes['changes'][number]): HTMLElement {
  // Masked values look equal, so the page can only say that they differ.
  if (old !== undefined && JSON.stringify(old) === JSON.stringify(next))
    return make('article.result', make('p', datum(path, 'code'), ' ', make('span.hint', ownText('changedMasked'))));
  const whole = old ?? next;
  if ((old === undefined || next === undefined) && isSection(whole)) return wholeSection(path, whole, old === undefined);
  const value = (shown: unknown) => datum(shown === undefined ? '' : compactText(shown), 'code');
  const [before, after] = [make('span.hidden', ownText('before')), make('span.hidden', ownText('after'))];
  const change = make('p.change', before, make('del', value(old)), ' → ', after, make('ins', value(next)));
  return make('article.result', make('p', datum(path, 'code')), change);
}

/** Shows that a section, such as an event handler, is added or removed. Its options are folded. */
function wholeSection(path: string, section: Record<string, unknown>, isAdded: boolean): HTMLElement {
  const name = typeof section.name === 'string' && section.name !== '' ? ` (${clear(section.name)})` : '';
  const mark = isAdded ? badge(ownText('sectionAdded'), 'good') : badge(ownText('sectionRemoved'), 'bad');
  return make('details.result', make('summary', datum(path, 'code'), name, ' ', mark), tree(section));
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Formats a value in one line, as in a configuration file: texts have no quotes, and lists have commas. */
function compactText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(', ');
  return JSON.stringify(value)?.replaceAll('":', '": ').replaceAll(',"', ', "') ?? '';
}

/** Returns the options whose path or value contains a text, with their parents; undefined if there are none. */
function matching(value: unknown, wanted: string, path: string): unknown {
  if (wanted === '' || path.toLowerCase().includes(wanted)) return value;
  if (value === null || typeof value !== 'object') return String(value).toLowerCase().includes(wanted) ? value : undefined;
  if (Array.isArray(value)) return JSON.stringify(value).toLowerCase().includes(wanted) ? value : undefined;
  const found = Object.entries(value).flatMap(([name, member]) => {
    const kept = matching(member, wanted, `${path}.${name}`);
    return kept === undefined ? [] : [[name, kept] as const];
  });
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

/**
 * Returns values as a file has them. The running configuration has lists for texts with commas, and separate members for the items after
 * `!`, for `extra_data` of type `custom`, and for the names and values of headers.
 */
function asInFile(value: unknown, name = ''): unknown {
  if (value === null) return '–';
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    if (name === 'headers' && value.length > 0) {
      const lines = value.map((header) => (Array.isArray(header) ? header.join(': ') : header));
      return lines.length === 1 ? lines[0] : lines;
    }
    return value.length > 0 && value.every((item) => typeof item !== 'object') ? value.join(', ') : value.map((item) => asInFile(item));
  }
  const { include, exclude, ...rest } = value as Record<string, unknown>;
  if (Array.isArray(include) && Array.isArray(exclude) && isEmpty(rest))
    return [...include, ...exclude.map((item) => `!${item}`)].join(', ');
  const { custom_body, ...members } = value as Record<string, unknown>;
  const shown = custom_body ? { ...members, extra_data: custom_body } : members;
  return Object.fromEntries(Object.entries(shown).map(([key, member]) => [key, asInFile(member, key)]));
}

/** Shows the options that the file sets; without the tick, or if a filter finds none of them, all options. */
function configurationView({ file, ...running }: RunningConfiguration): HTMLElement {
  const configuration = asInFile(running.configuration) as object;
  const set = running.set && (asInFile(running.set) as object);
  const place = make('div');
  const onlySet = make('input', { type: 'checkbox', checked: set !== null });
  const filter = make('input', {
    type: 'search',
    autocomplete: 'off',
    autocapitalize: 'none',
    placeholder: 'services.web',
    spellcheck: false,
  });
  const show = () => {
    const wanted = filter.value.trim().toLowerCase();
    const isOnlySet = onlySet.checked && set !== null;
    const ofFile = isOnlySet ? configSections(set, wanted, true) : [];
    const others = ofFile.length > 0 ? [] : configSections(configuration, wanted, false);
    const told = ofFile.length + others.length === 0 ? 'noOptions' : isOnlySet && others.length > 0 ? 'onlyDefaults' : undefined;
    place.replaceChildren(...(told ? [make('p.nothing', ownText(told))] : []), ...ofFile, ...others);
  };
  filter.addEventListener('input', show);
  onlySet.addEventListener('change', show);
  show();
  const tick = set !== null && make('label.tick', onlySet, make('span', ownText('onlySet')));
  return make(
    'div',
    file !== null && make('p.hint', datum(file, 'code')),
    make('div.range', field(ownText('filterOptions'), filter), tick),
    place,
  );
}

/** The highest number of members with which a section of options is open at first. */
const maxOpened = 12;

function configSections(options: object, wanted: string, areSet: boolean): HTMLElement[] {
  return Object.entries(options).flatMap(([name, value]) => {
    const kept = matching(value, wanted, name);
    if (kept === undefined || (areSet && isEmpty(kept))) return [];
    const open = wanted !== '' || (areSet && Object.keys(kept as object).length <= maxOpened);
    return [make('details.config-section', { open }, make('summary', clear(name)), make('div', tree(kept)))];
  });
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
