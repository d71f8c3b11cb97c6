import { icon, make, makeButton } from '../../shared/dom.ts';
import { eventBadge, eventKind, eventKinds } from '../event-kinds.ts';
import { handlerText } from '../handler-names.ts';
import { text, translate } from '../language.ts';
import { clear } from '../shown.ts';
import {
  type Condition,
  conditionProblem,
  conditionText,
  foldedWords,
  groupNames,
  isQueryKey,
  offeredKeys,
  parseConditions,
  type QueryKey,
  readConditions,
  statusNames,
  typedWords,
} from './query.ts';

interface Offer {
  /** Text that replaces the last word. If the text ends in `:`, the user continues with the value. */
  inserted: string;
  hint: string;
}

const maxOffers = 10;

/** Returns the values of a key, for example all accounts, that the page shows. The bar suggests them. */
export type SeenValues = (key: QueryKey) => Iterable<string>;

/**
 * Builds one input line for all conditions of a search. Each current condition is a chip with a button that removes it. Typed conditions
 * become chips when the search starts.
 *
 * @param search called with the new conditions
 * @param onProblem called after each check of the content. `isBad` is true if a condition is not valid, so that no search is possible
 */
export function queryBar(
  query: URLSearchParams,
  seen: SeenValues,
  search: (conditions: Condition[]) => void,
  onProblem: (isBad: boolean) => void,
) {
  // Conditions of the same key are alternatives, so they stand beside each other.
  const given = readConditions(query);
  const firstOf = ({ key }: Condition) => given.findIndex((one) => one.key === key);
  let chips = given.toSorted((one, other) => firstOf(one) - firstOf(other));
  const input = make('input', {
    id: 'event-query',
    type: 'text',
    role: 'combobox',
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: false,
    placeholder: text('queryHint'),
    ariaLabel: text('searchEvents'),
    ariaExpanded: 'false',
    ariaAutoComplete: 'list',
    attributes: { 'aria-controls': 'query-offers', 'aria-describedby': 'query-problem', enterkeyhint: 'search' },
  });
  const list = make('ul.offers', { id: 'query-offers', role: 'listbox', hidden: true, ariaLabel: text('offers') });
  const problem = make('p.field-error', { id: 'query-problem', role: 'alert', hidden: true });
  const chipList = make('span.chips');
  const field = make('div.query-field', icon('search'), chipList, input);
  const submit = make('button.primary', text('search'));
  const clearAll = makeButton(text('clearFilter'), undefined, () => commit([]), 'quiet');
  const form = make('form.query-bar', make('div.query-line', field, submit, clearAll), list, problem);
  let active = -1;
  let offers: Offer[] = [];

  const commit = (conditions: Condition[]) => {
    closeOffers();
    search(conditions);
  };

  /** Checks the chips and the given typed conditions. @returns whether all of them are valid */
  const check = (written: readonly Condition[] = [], unknownKey?: string): boolean => {
    const typed = unknownKey ?? written.map(conditionProblem).find((found) => found !== undefined);
    const reason = typed ?? chips.map(conditionProblem).find((found) => found !== undefined);
    // A wrong chip shows its own reason, so this line shows only the reason why typed text is wrong.
    problem.textContent = typed ?? '';
    problem.hidden = typed === undefined;
    input.ariaInvalid = String(reason !== undefined);
    submit.disabled = reason !== undefined;
    onProblem(reason !== undefined);
    return reason === undefined;
  };

  const showChips = () => {
    chipList.replaceChildren(
      ...chips.flatMap((condition, index) => {
        const { key, value } = condition;
        const name = key === 'event' || key === '-event' ? eventKind(value)?.name : undefined;
        const label = clear(conditionText(condition));
        const remove = makeButton('', 'close', () => commit(chips.filter((_, other) => other !== index)), 'quiet');
        remove.ariaLabel = text('removeCondition', { condition: label });
        const shown = make(
          'span',
          make('b', `${key}:`),
          make('bdi', clear(value)),
          name !== undefined && make('span.hint', ` ${clear(name)}`),
        );
        const reason = conditionProblem(condition);
        const chip = make(
          reason === undefined ? 'span.chip' : 'span.chip.bad',
          shown,
          reason && make('small', { role: 'alert' }, ` ${reason}`),
          remove,
        );
        return isAlternative(condition, chips[index - 1]) ? [make('span.hint', text('or')), chip] : [chip];
      }),
    );
    clearAll.hidden = chips.length === 0 && query.size === 0;
  };

  const closeOffers = () => {
    offers = [];
    active = -1;
    list.hidden = true;
    input.ariaExpanded = 'false';
    input.removeAttribute('aria-activedescendant');
  };

  const showOffers = () => {
    offers = findOffers(lastWord(input.value), seen);
    active = -1;
    input.removeAttribute('aria-activedescendant');
    list.replaceChildren(
      ...offers.map(({ inserted, hint }, index) => {
        const [, isOut, id] = /^(-?)event:(\d+)$/.exec(inserted) ?? [];
        const words = id === undefined ? [make('b', clear(inserted)), ' ', hint] : [isOut ? '-event: ' : '', make('b', hint)];
        const option = make('li', { id: `query-offer-${index}`, role: 'option', ariaSelected: 'false' }, make('span', ...words));
        if (id !== undefined) option.prepend(eventBadge(id), ' ');
        option.addEventListener('pointerdown', (event) => {
          event.preventDefault();
          take(index);
        });
        return option;
      }),
    );
    list.hidden = offers.length === 0;
    input.ariaExpanded = String(offers.length > 0);
  };

  const point = (step: number) => {
    if (offers.length === 0) showOffers();
    if (offers.length === 0) return;
    active = (active + step + offers.length + (active < 0 && step < 0 ? 1 : 0)) % offers.length;
    for (const [index, option] of [...list.children].entries()) option.ariaSelected = String(index === active);
    input.setAttribute('aria-activedescendant', `query-offer-${active}`);
    list.children[active]?.scrollIntoView({ block: 'nearest' });
  };

  const take = (index: number) => {
    const offer = offers[index];
    if (!offer) return;
    const before = input.value.slice(0, input.value.length - lastWord(input.value).length);
    input.value = `${before}${offer.inserted}`;
    input.focus();
    if (offer.inserted.endsWith(':')) showOffers();
    else submitWritten();
  };

  const submitWritten = () => {
    const written = parseConditions(input.value);
    if (check(written, unknownKeyProblem(input.value))) commit([...chips, ...written]);
  };

  input.addEventListener('input', () => {
    // A wrong value is reported only when the search starts, because a word is incomplete while it is being typed.
    check();
    showOffers();
  });
  input.addEventListener('focus', () => input.value === '' && showOffers());
  input.addEventListener('blur', closeOffers);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      point(event.key === 'ArrowDown' ? 1 : -1);
    } else if (event.key === 'Escape' && !list.hidden) {
      event.preventDefault();
      closeOffers();
    } else if (event.key === 'Enter' && active >= 0) {
      event.preventDefault();
      take(active);
    } else if (event.key === 'Backspace' && input.value === '' && chips.length > 0) {
      // Turn the last chip back into text, so that the user can edit it.
      event.preventDefault();
      input.value = conditionText(chips.at(-1) as Condition);
      chips = chips.slice(0, -1);
      showChips();
      check();
    }
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submitWritten();
  });
  showChips();
  return { element: form, isGood: check };
}

/** Whether an event must match only one of two conditions that follow each other. */
function isAlternative({ key }: Condition, before: Condition | undefined): boolean {
  return key === before?.key && key !== '-event' && key !== 'text';
}

/** Addresses, drives and empty values, as in `https://…`, `c:\\in` and `failed: …`, are texts with a colon and no conditions. */
const plainText = /^-?[a-z]+:(\/\/|$)|^[a-z]:|^(mailto|urn|uuid|data):/;

/** Returns the reason why a typed word seems to be a condition, but has a key that does not exist; undefined if there is no such word. */
function unknownKeyProblem(input: string): string | undefined {
  for (const [whole, key] of input.matchAll(typedWords)) {
    if (key === undefined || isQueryKey(key) || plainText.test(whole)) continue;
    const known = [...offeredKeys, 'text'];
    const near = [3, 2, 1].map((length) => known.find((name) => name.startsWith(key.slice(0, length)))).find(Boolean);
    return near === undefined
      ? handlerText('noSuchKey', { key, known: known.join(', ') })
      : handlerText('noSuchKeyNear', { key, known: near });
  }
  return undefined;
}

/** Returns the word that is being typed, including its key and an open quote. */
function lastWord(value: string): string {
  return /(?:-?[a-z]+:)?(?:"(?:[^"\\]|\\.)*"?|\S*)$/.exec(value)?.[0] ?? '';
}

function findOffers(word: string, seen: SeenValues): Offer[] {
  const [, key, value = ''] = /^(-?[a-z]+):"?([^"]*)"?$/.exec(word) ?? [];
  if (key === undefined) {
    const offered = offeredKeys
      .filter((name) => name.startsWith(word))
      .map((name) => ({ inserted: `${name}:`, hint: translate('query', name) }));
    if (word.length < 2) return offered.slice(0, maxOffers);
    return [...offered, ...valueOffers('account', word, seen('account')), ...eventOffers('event', word)].slice(0, maxOffers);
  }
  if (key === 'event' || key === '-event') return eventOffers(key, value);
  const known: Partial<Record<string, Iterable<string>>> = { status: statusNames, group: groupNames() };
  const values = known[key] ?? (offeredKeys.some((name) => name === key) ? seen(key as QueryKey) : []);
  return valueOffers(key as QueryKey, value, values);
}

function valueOffers(key: QueryKey, wanted: string, values: Iterable<string>): Offer[] {
  return [...new Set(values)]
    .filter((one) => one.toLowerCase().includes(wanted.toLowerCase()))
    .slice(0, maxOffers)
    .map((one) => ({ inserted: conditionText({ key, value: one }), hint: '' }));
}

/** Beginnings of words that people type, and parts of the names of the events that they look for. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  delet: ['remov', 'trash ended'],
  eras: ['remov'],
  login: ['authentication', 'credential'],
  logon: ['authentication', 'credential', 'login'],
  signin: ['authentication', 'credential', 'login'],
  logout: ['logged out', 'session ended', 'timed out'],
  logoff: ['logged out', 'session ended', 'timed out'],
  signout: ['logged out', 'session ended', 'timed out'],
  ban: ['address refused', 'suspended'],
  block: ['address refused', 'suspended'],
  virus: ['inspection', 'upload refused', 'upload held'],
  malware: ['inspection', 'upload refused', 'upload held'],
  quarantin: ['held'],
  mov: ['renam'],
  webhook: ['deliver'],
};

function eventOffers(key: 'event' | '-event', wanted: string): Offer[] {
  const words = foldedWords(wanted);
  const isTyped = (word: string) => words.length > 2 && (word.startsWith(words) || words.startsWith(word));
  const meant = Object.entries(synonyms).flatMap(([word, parts]) => (isTyped(word) ? parts : []));
  const isMeant = (name: string) => [words, ...meant].some((part) => name.includes(part));
  return eventKinds()
    .filter(({ id, name, english }) => id.startsWith(words) || foldedWords(name).includes(words) || isMeant(foldedWords(english)))
    .slice(0, maxOffers)
    .map(({ id, name }) => ({ inserted: `${key}:${id}`, hint: name }));
}
