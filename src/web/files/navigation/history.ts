import { layerParameter, pageUrl } from './folder.ts';

interface State {
  /** Place among the entries of this window. */
  index: number;
  /** Whether it was made for a layer. */
  isLayer?: true;
}

type Opener = (name: string) => boolean;
type Traveller = (page: URL) => Promise<unknown>;

let open: Opener | undefined;
let travel: Traveller | undefined;
let close: (() => void) | undefined;

/** Index of the present entry. */
let index = (history.state as State | null)?.index ?? 0;
history.replaceState({ ...history.state, index }, '');

/** Index of the present entry among those of its pages. */
export function entryIndex(): number {
  return index;
}

/** Adds an entry for another page, or for an open file; Back or closing the file leaves it. @param url of both */
export function pushPage(url: URL): void {
  const isLayer = url.searchParams.has(layerParameter) && { isLayer: true };
  history.pushState({ index: ++index, ...isLayer }, '', url);
}

/** Returns to the entry whose page is still shown, after a step to an entry that cannot be shown. @param to its index */
export function stepBack(to: number): void {
  if (to !== index) history.go(to - index);
}

/** Has `traveller` show the page that each step of Back and Forward leads to. It never rejects. */
export function whenPageIsAsked(traveller: Traveller): void {
  travel = traveller;
}

/**
 * Shows a file above its folder, in a history entry of its own unless the URL names the file already: Back closes it.
 * @param onClose called once, when Back, Forward or `leave` closes it
 */
export function openLayer(name: string, onClose: () => void) {
  if (askedName() !== name) history.pushState({ index: ++index, isLayer: true }, '', urlWith(name));
  let isOver = false;
  close = () => {
    isOver = true;
    onClose();
  };
  return {
    /** Shows another file in the same entry. */
    moveTo: (other: string) => history.replaceState(history.state, '', urlWith(other)),
    /** Closes it and goes back to where it was opened. */
    leave: () => {
      if (isOver) return;
      isOver = true;
      if (history.state?.isLayer) return history.back();
      // The page was loaded with the layer: before it there is something else.
      history.replaceState({ index }, '', urlWith());
      closeLayer();
    },
  };
}

/** Calls `opener` to open the file that the URL names: now, and after each Back and Forward. @param opener returns whether it opened it */
export function whenLayerIsAsked(opener: Opener): void {
  open = opener;
}

/** Opens the layer that the URL names; a file that cannot be opened is removed from the URL. */
export function openAskedLayer(): void {
  const name = askedName();
  if (name !== null && !open?.(name)) history.replaceState(history.state, '', urlWith());
}

// The only listener for Back and Forward, and for links within the page, whose entries have no state.
addEventListener('popstate', async () => {
  closeLayer();
  if (history.state === null) history.replaceState({ index: index + 1 }, '');
  index = (history.state as State).index;
  await travel?.(pageUrl(location.href));
  openAskedLayer();
});

function closeLayer(): void {
  const closing = close;
  close = undefined;
  closing?.();
}

function askedName(): string | null {
  return new URLSearchParams(location.search).get(layerParameter);
}

function urlWith(name?: string): URL {
  const url = new URL(location.href);
  if (name === undefined) url.searchParams.delete(layerParameter);
  else url.searchParams.set(layerParameter, name);
  return url;
}
