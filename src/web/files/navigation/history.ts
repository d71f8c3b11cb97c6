import { layerParameter, pageUrl } from './folder.ts';

interface State {
  /** Position among the entries of this window. */
  index: number;
  /** Whether the entry was added for a layer, that is, for the preview of a file, which covers its folder. */
  isLayer?: true;
}

type Opener = (name: string) => boolean;
type Traveller = (page: URL) => Promise<unknown>;

let open: Opener | undefined;
let travel: Traveller | undefined;
let close: (() => void) | undefined;

/** Index of the current entry. */
let index = (history.state as State | null)?.index ?? 0;
history.replaceState({ ...history.state, index }, '');

/** Index of the current history entry of this window. */
export function entryIndex(): number {
  return index;
}

/**
 * Adds a history entry for another page or an open file. The Back button, or closing the file, returns to the previous entry.
 *
 * @param url URL of the page or file
 */
export function pushPage(url: URL): void {
  const isLayer = url.searchParams.has(layerParameter) && { isLayer: true };
  history.pushState({ index: ++index, ...isLayer }, '', url);
}

/**
 * Returns to the entry whose page is still shown, because the entry that the user went to cannot be shown.
 *
 * @param to index of the shown entry
 */
export function stepBack(to: number): void {
  if (to !== index) history.go(to - index);
}

/** Registers `traveller`, which shows the page that Back or Forward leads to. It must not reject. */
export function whenPageIsAsked(traveller: Traveller): void {
  travel = traveller;
}

/**
 * Opens a layer, which is the preview of a file and covers its folder. It gets its own history entry, so that Back closes it. If the URL
 * already names the file, no entry is added.
 * @param onClose called once, when the layer is closed by Back, Forward or `leave`
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
    /** Closes the layer and returns to the previous entry. */
    leave: () => {
      if (isOver) return;
      isOver = true;
      if (history.state?.isLayer) return history.back();
      // The page was loaded with the layer open, so the previous entry is another page.
      history.replaceState({ index }, '', urlWith());
      closeLayer();
    },
  };
}

/** Registers `opener`, which opens the file that the URL names. @param opener returns whether it opened the file */
export function whenLayerIsAsked(opener: Opener): void {
  open = opener;
}

/** Opens the file that the URL names. If it cannot be opened, the name is removed from the URL. */
export function openAskedLayer(): void {
  const name = askedName();
  if (name !== null && !open?.(name)) history.replaceState(history.state, '', urlWith());
}

// The only listener for Back, Forward and links within the page. A link within the page adds an entry without a state.
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
