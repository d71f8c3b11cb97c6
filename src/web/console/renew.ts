const focusable = 'a[href], button, input, select, summary, [tabindex]';

/**
 * Shows nodes in place of those that were shown before. What is the same stays as it is, so that live figures take neither the focus nor the text
 * that somebody selects. Nodes with a `data-key` are told apart by it, others by where they stand; of a row only the cells that differ are replaced.
 */
export function renew(place: Element, nodes: readonly Element[]): void {
  const old = new Map([...place.children].map((node, index) => [keyOf(node, index), node]));
  const keys = new Set(nodes.map(keyOf));
  for (const [key, gone] of old) if (!keys.has(key)) gone.remove();
  for (const [index, node] of nodes.entries()) {
    const before = old.get(keyOf(node, index));
    const there = place.children[index] ?? null;
    if (!before || before !== there) place.insertBefore(before ?? node, there);
    if (before && !before.isEqualNode(node)) exchange(before, node);
  }
}

function keyOf(node: Element, index: number): string {
  return node.getAttribute('data-key') ?? String(index);
}

function exchange(before: Element, node: Element): void {
  if (before instanceof HTMLTableRowElement) {
    renew(before, [...node.children]);
    return;
  }
  const at = [...before.querySelectorAll(focusable)].indexOf(document.activeElement as Element);
  before.replaceWith(node);
  if (at >= 0) node.querySelectorAll<HTMLElement>(focusable)[at]?.focus();
}
