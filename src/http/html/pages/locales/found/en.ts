import type { Text } from '../text.ts';

/** English: texts of the page of a search that its script says, too. */
export const foundTexts = {
  folder: 'folder',
  found: { one: 'One item was found.', other: '{count} items were found.' },
  nothingFound: 'Nothing below this folder has this in its name.',
  nothingFoundHint: 'Try a shorter part of the name, or a folder further up.',
  searchTruncated:
    'The search was ended before it had seen everything: there may be more. Search a folder further down, or for more of the name.',
} satisfies Record<string, Text>;

export type FoundTextName = keyof typeof foundTexts;
